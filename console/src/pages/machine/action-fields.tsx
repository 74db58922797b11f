/** The fields of an action's dialog, one kind of control each. */
import { useQuery } from '@tanstack/react-query';
import { useId } from 'react';
import type { ActionMachine, MachineAction } from '../../../../src/domain/machine/machine-action.ts';
import { admin } from '../../api/clients.ts';
import { failureOf } from '../../api/failure.ts';
import { rest } from '../../api/rest.ts';
import { listWorkflows } from '../nodes/nodes.ts';
import { choicesOf, type FieldName, imageFault } from './action-form.ts';

export interface FieldProps {
  readonly action: MachineAction;
  readonly field: FieldName;
  readonly machine: ActionMachine;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

const TITLES = {
  image: 'Image (empty: the server’s default)',
  pool: 'Worker pool',
  mode: 'Mode',
  service: 'New service state',
  flag: 'Flag',
  workflow: 'Workflow',
  state: 'New install state',
  force: 'Past the limit of attempts, whose counter begins anew',
  overwrite: 'Write over the whole of disks that have no erase command; this may take hours',
  macs: 'MAC addresses of the replacement, with commas between them',
  serial: 'Serial number of the replacement (may be empty)',
  reason: 'Reason, for the history',
  comment: 'Comment, for the history (may be empty)',
} as const satisfies Record<FieldName, string>;

/** What a force passes over depends on the action. */
const FORCE_TITLES: Partial<Record<MachineAction, string>> = {
  set_service: 'Force: to active although its upstream says that it is not deployed',
};

const CONTROLS = {
  image: ImageField,
  pool: PoolField,
  mode: ChoiceField,
  service: ChoiceField,
  flag: ChoiceField,
  workflow: WorkflowField,
  state: ChoiceField,
  force: CheckField,
  overwrite: CheckField,
  macs: TextField,
  serial: TextField,
  reason: TextField,
  comment: TextField,
} as const satisfies Record<FieldName, (props: FieldProps) => React.ReactNode>;

export function ActionField(props: FieldProps) {
  const Control = CONTROLS[props.field];
  return <Control {...props} />;
}

function TextField({ field, value, onChange }: FieldProps) {
  return (
    <label className="field">
      <span>{TITLES[field]}</span>
      <input
        className="input"
        maxLength={1000}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}

function CheckField({ action, field, value, onChange }: FieldProps) {
  return (
    <label className="row">
      <input
        type="checkbox"
        checked={value !== ''}
        onChange={(event) => onChange(event.target.checked ? 'true' : '')}
      />
      {FORCE_TITLES[action] ?? TITLES[field]}
    </label>
  );
}

function ChoiceField({ action, field, machine, value, onChange }: FieldProps) {
  const name = useId();
  return (
    <fieldset className="choices">
      <legend>{TITLES[field]}</legend>
      {choicesOf(action, field, machine).map((choice) => (
        <label key={choice.value} className="choice">
          <input
            type="radio"
            name={name}
            value={choice.value}
            checked={value === choice.value}
            disabled={choice.disabledBecause !== ''}
            onChange={() => onChange(choice.value)}
          />
          <span>
            <strong>{choice.value}</strong>
            <span className="soft">{choice.hint}</span>
            {choice.disabledBecause && <span className="soft">{choice.disabledBecause}</span>}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

function ImageField({ field, value, onChange }: FieldProps) {
  const id = useId();
  const images = useQuery({
    queryKey: ['images'],
    queryFn: async () => (await rest<{ data: { name: string }[] }>('GET', '/api/v1/images')).data,
  });
  const fault = imageFault(value);
  return (
    <div>
      <label className="field">
        <span>{TITLES[field]}</span>
        <input
          className="input mono"
          list={id}
          spellCheck={false}
          aria-invalid={fault !== '' || undefined}
          aria-describedby={`${id}-hint`}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      </label>
      <datalist id={id}>
        {images.data?.map((image) => (
          <option key={image.name} value={image.name} />
        ))}
      </datalist>
      <p id={`${id}-hint`} className={fault === '' ? 'hint soft' : 'hint fault'}>
        {fault ||
          (images.isError
            ? `The images can’t be listed (${failureOf(images.error).message}); type its name.`
            : images.data &&
              `${images.data.length || 'No'} images are stored here; the provider may know others by name.`)}
      </p>
    </div>
  );
}

function PoolField({ field, value, onChange }: FieldProps) {
  const pools = useQuery({
    queryKey: ['pools'],
    queryFn: async () => (await admin.listPools({})).pools.map(({ name }) => name),
  });
  return (
    <SelectField
      title={TITLES[field]}
      value={value}
      onChange={onChange}
      options={pools.data ?? []}
      none="choose a pool"
      fault={
        pools.isError
          ? failureOf(pools.error).message
          : pools.data?.length === 0
            ? 'There are no pools. An admin makes one with: ingot pool create <name>'
            : ''
      }
    />
  );
}

function WorkflowField({ field, value, onChange }: FieldProps) {
  const workflows = useQuery({ queryKey: ['workflows'], queryFn: listWorkflows });
  return (
    <SelectField
      title={TITLES[field]}
      value={value}
      onChange={onChange}
      options={workflows.data?.map(({ name }) => name) ?? []}
      none="the one it has, or the default"
      fault={workflows.isError ? failureOf(workflows.error).message : ''}
    />
  );
}

interface SelectFieldProps {
  readonly title: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly options: readonly string[];
  /** What choosing none means. */
  readonly none: string;
  readonly fault: string;
}

function SelectField({ title, value, onChange, options, none, fault }: SelectFieldProps) {
  const shown = value === '' || options.includes(value) ? options : [value, ...options];
  return (
    <div>
      <label className="field">
        <span>{title}</span>
        <select className="input" value={value} onChange={(event) => onChange(event.target.value)}>
          <option value="">{none}</option>
          {shown.map((option) => (
            <option key={option}>{option}</option>
          ))}
        </select>
      </label>
      {fault !== '' && <p className="hint fault">{fault}</p>}
    </div>
  );
}
