/** The fields of an action's dialog, each with its control. */
import { useQuery } from '@tanstack/react-query';
import { useId } from 'react';
import type { ActionMachine, MachineAction } from '../../../../src/domain/machine/machine-action.ts';
import { admin } from '../../api/clients.ts';
import { failureOf } from '../../api/failure.ts';
import { rest } from '../../api/rest.ts';
import { SelectField } from '../../ui/select-field.tsx';
import { WorkflowField } from '../nodes/workflow-field.tsx';
import { choicesOf, type FieldName, imageFault } from './action-form.ts';

export interface FieldProps {
  readonly action: MachineAction;
  readonly field: FieldName;
  readonly machine: ActionMachine;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

const TITLES = {
  image: 'Image (optional)',
  pool: 'Worker pool',
  mode: 'Mode',
  service: 'New service state',
  flag: 'Flag',
  workflow: 'Workflow',
  state: 'New install state',
  force: 'Force: ignore the attempt limit and reset the attempts',
  overwrite: 'Overwrite disks that have no erase command completely; this may take hours',
  macs: 'MAC addresses of the replacement, separated by commas',
  serial: 'Serial number of the replacement (optional)',
  reason: 'Reason',
  comment: 'Comment (optional)',
} as const satisfies Record<FieldName, string>;

/** What `force` overrides depends on the action. */
const FORCE_TITLES: Partial<Record<MachineAction, string>> = {
  set_service: 'Force: set it to active even if its upstream does not report it as deployed',
};

const CONTROLS = {
  image: ImageField,
  pool: PoolField,
  mode: ChoiceField,
  service: ChoiceField,
  flag: ChoiceField,
  workflow: NodeWorkflowField,
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
            ? `Failed to load images: ${failureOf(images.error).message}. Enter a name.`
            : images.data &&
              'Leave it empty for the default image. The provider may accept names that are not in the list.')}
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
      none="Select a pool"
      fault={
        pools.isError
          ? failureOf(pools.error).message
          : pools.data?.length === 0
            ? 'No pools. An admin creates one with: ingot pool create <name>'
            : ''
      }
    />
  );
}

function NodeWorkflowField({ value, onChange }: FieldProps) {
  return <WorkflowField none="Current workflow, or the default" value={value} onChange={onChange} />;
}
