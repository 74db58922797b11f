/** The fields of a machine's spec and labels as inputs, for editing and for registering. */
import { useId } from 'react';
import { SPEC_FIELDS, type SpecFieldName } from '../../../../src/domain/machine/spec/spec-field.ts';
import { capitalize } from '../../capitalize.ts';
import { Button } from '../../ui/button.tsx';
import type { LabelRow } from './spec-edit.ts';

export interface SpecTextFieldProps {
  readonly name: SpecFieldName;
  readonly value: string;
  readonly fault: string;
  /** Empty: it can be changed. */
  readonly fixedBecause: string;
  readonly onChange: (value: string) => void;
}

export function SpecTextField({ name, value, fault, fixedBecause, onChange }: SpecTextFieldProps) {
  const id = useId();
  return (
    <div>
      <label className="field">
        <span>{SPEC_FIELDS[name].title}</span>
        <input
          className="input mono"
          spellCheck={false}
          value={value}
          readOnly={fixedBecause !== ''}
          aria-invalid={fault !== '' || undefined}
          aria-describedby={id}
          onChange={(event) => onChange(event.target.value)}
        />
      </label>
      <p id={id} className={fault === '' ? 'hint soft' : 'hint fault'}>
        {fault || fixedBecause || hintOf(name)}
      </p>
    </div>
  );
}

export interface LabelsFieldProps {
  readonly rows: readonly LabelRow[];
  readonly faults: ReadonlyMap<string, string>;
  readonly onChange: (rows: readonly LabelRow[]) => void;
}

export function LabelsField({ rows, faults, onChange }: LabelsFieldProps) {
  const change = (changed: LabelRow) => onChange(rows.map((row) => (row.id === changed.id ? changed : row)));
  const add = () => {
    const id = Math.max(-1, ...rows.map((row) => row.id)) + 1;
    onChange([...rows, { id, name: '', value: '' }]);
  };
  return (
    <fieldset className="choices">
      <legend>Labels</legend>
      {rows.map((row) => {
        const fault = faults.get(`labels.${row.name.trim()}`) ?? '';
        const isFilled = row.name !== '' || row.value !== '';
        return (
          <div key={row.id}>
            <div className="label-row">
              <input
                className="input mono"
                aria-label="Label name"
                placeholder="name"
                spellCheck={false}
                value={row.name}
                aria-invalid={(isFilled && fault !== '') || undefined}
                onChange={(event) => change({ ...row, name: event.target.value })}
              />
              <input
                className="input mono"
                aria-label={`Value of ${row.name || 'the label'}`}
                placeholder="value"
                spellCheck={false}
                value={row.value}
                onChange={(event) => change({ ...row, value: event.target.value })}
              />
              <Button
                kind="quiet"
                label={`Remove label ${row.name}`}
                onClick={() => onChange(rows.filter(({ id }) => id !== row.id))}
              >
                ×
              </Button>
            </div>
            {isFilled && fault !== '' && <p className="hint fault">{fault}</p>}
          </div>
        );
      })}
      {faults.has('labels') && <p className="hint fault">Labels {faults.get('labels')}</p>}
      <div>
        <Button onClick={add}>Add label</Button>
      </div>
    </fieldset>
  );
}

function hintOf(name: SpecFieldName): string {
  const { type, description } = SPEC_FIELDS[name];
  return capitalize(type === 'list' ? `${description}, separated by commas or spaces` : description);
}
