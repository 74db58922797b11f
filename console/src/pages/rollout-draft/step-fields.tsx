/** What is done on each machine: the steps in their order, with the fields of each. */
import type { ReactNode } from 'react';
import { Button } from '../../ui/button.tsx';
import { SelectField } from '../../ui/select-field.tsx';
import { ImageField, PlanField, PoolField } from '../machine/catalog-fields.tsx';
import { type Draft, isInMaintenance, newStep, type StepDraft, withMaintenance } from './draft.ts';
import { type StepField, VERB_NAMES, type Verb, verbInfo } from './step-verbs.ts';

export interface DraftProps {
  readonly draft: Draft;
  readonly onDraft: (draft: Draft) => void;
}

/** The server's limit. */
const MOST_STEPS = 20;

export function StepFields({ draft, onDraft }: DraftProps) {
  const { steps } = draft;
  const replace = (index: number, step: StepDraft) => onDraft({ ...draft, steps: steps.with(index, step) });
  const move = (index: number, to: number) => {
    const step = steps[index];
    if (step) onDraft({ ...draft, steps: steps.toSpliced(index, 1).toSpliced(to, 0, step) });
  };
  return (
    <>
      <ol className="draft-steps" aria-label="Steps">
        {steps.map((step, index) => (
          <StepCard
            key={step.key}
            step={step}
            number={index + 1}
            onStep={(next) => replace(index, next)}
            onUp={index > 0 ? () => move(index, index - 1) : null}
            onDown={index < steps.length - 1 ? () => move(index, index + 1) : null}
            onRemove={steps.length > 1 ? () => onDraft({ ...draft, steps: steps.toSpliced(index, 1) }) : null}
          />
        ))}
      </ol>
      <div className="row">
        <Button
          disabledBecause={steps.length >= MOST_STEPS ? 'A rollout has 20 steps at most.' : ''}
          onClick={() => onDraft({ ...draft, steps: [...steps, newStep('verify')] })}
        >
          Add a step
        </Button>
        {!isInMaintenance(draft) && (
          <Button onClick={() => onDraft(withMaintenance(draft))}>Put maintenance around it</Button>
        )}
      </div>
    </>
  );
}

interface StepCardProps {
  readonly step: StepDraft;
  readonly number: number;
  readonly onStep: (step: StepDraft) => void;
  readonly onUp: (() => void) | null;
  readonly onDown: (() => void) | null;
  /** Null: it is the only one. */
  readonly onRemove: (() => void) | null;
}

function StepCard({ step, number, onStep, onUp, onDown, onRemove }: StepCardProps) {
  const { effect, destructive, fields } = verbInfo(step.verb);
  return (
    <li className="draft-step">
      <div className="draft-step-head">
        <span className="draft-step-number" aria-hidden="true">
          {number}
        </span>
        <select
          className="input"
          aria-label={`Step ${number}`}
          value={step.verb}
          onChange={(event) => onStep({ ...step, verb: event.target.value as Verb, values: {} })}
        >
          {VERB_NAMES.map((verb) => (
            <option key={verb} value={verb}>
              {verbInfo(verb).title}
            </option>
          ))}
        </select>
        <span className="gap" />
        {onUp && (
          <Button kind="quiet" label={`Move step ${number} up`} onClick={onUp}>
            ↑
          </Button>
        )}
        {onDown && (
          <Button kind="quiet" label={`Move step ${number} down`} onClick={onDown}>
            ↓
          </Button>
        )}
        {onRemove && (
          <Button kind="quiet" label={`Remove step ${number}`} onClick={onRemove}>
            ×
          </Button>
        )}
      </div>
      <p className={destructive ? 'hint fault' : 'hint soft'}>{effect}.</p>
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          value={step.values[field.name] ?? ''}
          onChange={(value) => onStep({ ...step, values: { ...step.values, [field.name]: value } })}
        />
      ))}
    </li>
  );
}

interface FieldProps {
  readonly field: StepField;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

const CONTROLS = {
  text: TextField,
  check: CheckField,
  image: ({ field, ...rest }) => <ImageField title={field.title} {...rest} />,
  pool: ({ field, ...rest }) => <PoolField title={field.title} {...rest} />,
  plan: ({ field, ...rest }) => <PlanField title={field.title} {...rest} />,
  choice: ({ field, ...rest }) => (
    <SelectField title={field.title} options={field.choices ?? []} none="–" fault="" {...rest} />
  ),
} as const satisfies Record<StepField['kind'], (props: FieldProps) => ReactNode>;

function Field(props: FieldProps) {
  const Control: (props: FieldProps) => ReactNode = CONTROLS[props.field.kind];
  return <Control {...props} />;
}

function TextField({ field, value, onChange }: FieldProps) {
  return (
    <label className="field">
      <span>{field.title}</span>
      <input
        className="input"
        spellCheck={false}
        placeholder={field.placeholder}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}

function CheckField({ field, value, onChange }: FieldProps) {
  return (
    <label className="check">
      <input
        type="checkbox"
        checked={value !== ''}
        onChange={(event) => onChange(event.target.checked ? 'true' : '')}
      />
      {field.title}
    </label>
  );
}
