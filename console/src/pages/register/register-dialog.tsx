/** Registers machines: one with its fields, or a list that is pasted or read from a file. */
import { ConnectError } from '@connectrpc/connect';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { EMPTY_SPEC, messageOfSpec } from '../../../../src/domain/machine/spec/machine-spec.ts';
import {
  SPEC_FIELD_NAMES,
  SPEC_FIELDS,
  type SpecFieldName,
} from '../../../../src/domain/machine/spec/spec-field.ts';
import { fleet, machines } from '../../api/clients.ts';
import { machineHref } from '../../pages.ts';
import { shellWord } from '../../shell-word.ts';
import { Button } from '../../ui/button.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { useToasts } from '../../ui/toasts.tsx';
import { type Draft, descriptionOf, draftOf, faultsOf } from '../machine/spec-edit.ts';
import { LabelsField, SpecTextField } from '../machine/spec-fields.tsx';
import { TextInput } from '../rollout-draft/text-input.tsx';
import { ImportDialog } from './import-dialog.tsx';

/** Those that most machines need; the others are one click away. */
const FIRST: readonly SpecFieldName[] = SPEC_FIELD_NAMES.filter((name) =>
  ['provider', 'ssh_endpoint', 'bmc_endpoint', 'mac_addresses', 'location.rack'].includes(name),
);
const MORE = SPEC_FIELD_NAMES.filter((name) => !FIRST.includes(name));

export function RegisterDialog({ onClose }: { onClose: () => void }) {
  const [many, setMany] = useState<'one' | 'list'>('one');
  return many === 'list' ? (
    <ImportDialog onClose={onClose} />
  ) : (
    <RegisterOne onClose={onClose} onList={() => setMany('list')} />
  );
}

function RegisterOne({ onClose, onList }: { onClose: () => void; onList: () => void }) {
  const [machineId, setMachineId] = useState('');
  const [draft, setDraft] = useState<Draft>(() => draftOf({ spec: EMPTY_SPEC, labels: {} }));
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const { notify } = useToasts();
  const faults = faultsOf(draft);
  const field = (name: SpecFieldName) => (
    <SpecTextField
      key={name}
      name={name}
      value={draft.spec[name]}
      fault={faults.get(`spec.${name}`) ?? ''}
      fixedBecause=""
      onChange={(value) => setDraft({ ...draft, spec: { ...draft.spec, [name]: value } })}
    />
  );
  return (
    <FormDialog
      title="Register a machine"
      verb="Register"
      size="wide"
      missing={faults.size > 0 ? 'Fix the invalid fields first.' : ''}
      act={() => registerNew(machineId.trim(), draft)}
      onDone={(machine) => {
        notify(`Registered ${machine.machineId}`);
        void queries.invalidateQueries();
        navigate(machineHref(machine.machineId));
      }}
      onClose={onClose}
      command={commandOf(machineId.trim(), draft)}
    >
      <p className="row">
        <span className="soft">One machine.</span>
        <Button kind="quiet" onClick={onList}>
          Import a list instead
        </Button>
      </p>
      <TextInput
        title="Machine id (optional)"
        placeholder="web-r11-u14"
        hint="Empty: the server makes one up"
        value={machineId}
        onChange={setMachineId}
      />
      {FIRST.map(field)}
      <details>
        <summary>More fields</summary>
        <div className="stack">{MORE.map(field)}</div>
      </details>
      <LabelsField
        rows={draft.labels}
        faults={faults}
        onChange={(labels) => setDraft({ ...draft, labels })}
      />
    </FormDialog>
  );
}

/** Registering a machine that exists would replace its labels and spec. */
async function registerNew(machineId: string, draft: Draft) {
  if (machineId !== '' && (await exists(machineId)))
    throw new ConnectError(`there is a machine ${machineId} already; open it to change it`);
  const { spec, labels } = descriptionOf(draft);
  return machines.registerMachine({
    machine: { machineId, labels: { ...labels }, spec: messageOfSpec(spec) },
  });
}

async function exists(machineId: string): Promise<boolean> {
  return (await fleet.getMachines({ machineIds: [machineId] })).machines.length > 0;
}

function commandOf(machineId: string, draft: Draft): string {
  const flags = SPEC_FIELD_NAMES.flatMap((name) => {
    const [flag = ''] = SPEC_FIELDS[name].flag.split(' ');
    return draft.spec[name] === '' ? [] : [`${flag} ${shellWord(draft.spec[name])}`];
  });
  const labels = draft.labels
    .filter(({ name }) => name.trim() !== '')
    .map(({ name, value }) => `-l ${shellWord(`${name.trim()}=${value}`)}`);
  return ['ingot register', machineId && shellWord(machineId), ...flags, ...labels].filter(Boolean).join(' ');
}
