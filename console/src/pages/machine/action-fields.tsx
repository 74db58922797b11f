/** The fields of an action's dialog, each with its control. */
import { useId } from 'react';
import type { ActionMachine, MachineAction } from '../../../../src/domain/machine/machine-action.ts';
import { WorkflowField } from '../nodes/workflow-field.tsx';
import { choicesOf, type FieldName } from './action-form.ts';
import { ImageField, PoolField } from './catalog-fields.tsx';
import { CertificateField } from './certificate-field.tsx';

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
  powerRequest: 'What to do',
  watts: 'Watts, or off to remove the cap',
  duration: 'How long (optional): 10m unless given, at most 24h',
  off: 'Switch it off now',
  source: 'Boot from',
  path: 'UEFI device path, boot option (Boot0003) or address of an HTTP boot (optional)',
  firmware: 'Mode of the firmware (optional): as it is unless chosen',
  continuous: 'For every boot until it is changed, not only for the next one',
  fingerprint: 'Certificate',
  why: 'Reason (optional)',
} as const satisfies Record<FieldName, string>;

/** What `force` overrides depends on the action. */
const FORCE_TITLES: Partial<Record<MachineAction, string>> = {
  set_service: 'Force: set it to active even if its upstream does not report it as deployed',
};

const CONTROLS = {
  image: NamedImageField,
  pool: NamedPoolField,
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
  powerRequest: ChoiceField,
  watts: TextField,
  duration: TextField,
  off: CheckField,
  source: ChoiceField,
  path: TextField,
  firmware: ChoiceField,
  continuous: CheckField,
  fingerprint: CertificateField,
  why: TextField,
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

function NamedImageField({ field, value, onChange }: FieldProps) {
  return <ImageField title={TITLES[field]} value={value} onChange={onChange} />;
}

function NamedPoolField({ field, value, onChange }: FieldProps) {
  return <PoolField title={TITLES[field]} value={value} onChange={onChange} />;
}

function NodeWorkflowField({ value, onChange }: FieldProps) {
  return <WorkflowField none="Current workflow, or the default" value={value} onChange={onChange} />;
}
