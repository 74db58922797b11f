/** Registers a list of machines. What exists already is not changed; what a line has wrong is said before anything is sent. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { messageOfSpec } from '../../../../src/domain/machine/spec/machine-spec.ts';
import { fleet, machines } from '../../api/clients.ts';
import { failureOf } from '../../api/failure.ts';
import { countText } from '../../count-text.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ProgressBar } from '../../ui/progress-bar.tsx';
import { useToasts } from '../../ui/toasts.tsx';
import { type ListedMachine, readMachineList } from './machine-list.ts';

const SAMPLE = `machine_id,provider,bmc_endpoint,location.rack,labels.env
web-r11-u14,redfish,192.0.2.14,r11,prod
web-r11-u15,redfish,192.0.2.15,r11,prod`;
const FAULTS_SHOWN = 8;
const AT_ONCE = 8;
/** The server's limit of one request. */
const ASKED_AT_ONCE = 500;

interface Imported {
  readonly registered: number;
  readonly existing: number;
  readonly failed: ReadonlyArray<{ readonly machineId: string; readonly why: string }>;
}

export function ImportDialog({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('');
  const [done, setDone] = useState(0);
  const list = useMemo(() => readMachineList(text), [text]);
  const faulty = list.machines.filter(({ fault }) => fault !== '');
  const { notify } = useToasts();
  const queries = useQueryClient();
  const send = useMutation({
    mutationFn: () => importMachines(list.machines, setDone),
    onSuccess: ({ registered, existing, failed }) => {
      void queries.invalidateQueries();
      const kept = existing > 0 ? `; ${existing} existed and were not changed` : '';
      notify(`Registered ${countText(registered, 'machine')}${kept}`);
      if (failed.length === 0) onClose();
    },
  });
  const missing =
    list.fault ||
    (list.machines.length === 0
      ? 'Paste a list, or choose a file.'
      : faulty.length > 0
        ? 'Fix the lines below first.'
        : '');
  const failed = send.data?.failed ?? [];
  return (
    <Dialog
      title="Import machines"
      size="wide"
      onClose={onClose}
      onSubmit={() => send.mutate()}
      foot={
        <>
          <Button onClick={onClose}>{send.data ? 'Close' : 'Cancel'}</Button>
          <Button
            type="submit"
            kind="primary"
            disabledBecause={send.isPending ? 'Request in progress.' : missing}
          >
            Register {list.machines.length > 0 && countText(list.machines.length, 'machine')}
          </Button>
        </>
      }
    >
      <label className="field">
        <span>Machines: one id in each line, or rows with the names of the fields in the first line</span>
        <textarea
          className="input mono"
          rows={10}
          spellCheck={false}
          placeholder={SAMPLE}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </label>
      <label className="field">
        <span>Or a file (CSV, or tabs from a spreadsheet)</span>
        <input
          className="input"
          type="file"
          accept=".csv,.tsv,.txt,text/csv,text/plain"
          onChange={(event) => void event.target.files?.[0]?.text().then(setText)}
        />
      </label>
      {list.fault !== '' && <p className="fault">{list.fault}</p>}
      <Lines title="Wrong lines" lines={faulty.map(({ line, fault }) => [`Line ${line}`, fault] as const)} />
      {send.isPending && (
        <ProgressBar label="Registering" percent={(100 * done) / list.machines.length} tone="blue" />
      )}
      {send.isError && (
        <p className="fault" role="alert">
          {failureOf(send.error).message} {failureOf(send.error).advice}
        </p>
      )}
      <Lines title="Not registered" lines={failed.map(({ machineId, why }) => [machineId, why] as const)} />
    </Dialog>
  );
}

function Lines({ title, lines }: { title: string; lines: readonly (readonly [string, string])[] }) {
  if (lines.length === 0) return null;
  return (
    <ul className="fault" aria-label={title}>
      {lines.slice(0, FAULTS_SHOWN).map(([what, why]) => (
        <li key={`${what} ${why}`}>
          {what}: {why}
        </li>
      ))}
      {lines.length > FAULTS_SHOWN && <li>and {lines.length - FAULTS_SHOWN} more</li>}
    </ul>
  );
}

async function importMachines(
  listed: readonly ListedMachine[],
  onDone: (count: number) => void,
): Promise<Imported> {
  const existing = await findExisting(listed.map(({ machineId }) => machineId));
  const waiting = listed.filter(({ machineId }) => !existing.has(machineId));
  const failed: Array<Imported['failed'][number]> = [];
  let done = existing.size;
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { machineId, description } = next;
      try {
        const { labels, spec } = description;
        await machines.registerMachine({
          machine: { machineId, labels: { ...labels }, spec: messageOfSpec(spec) },
        });
      } catch (error) {
        failed.push({ machineId, why: failureOf(error).message });
      }
      done += 1;
      onDone(done);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { registered: listed.length - existing.size - failed.length, existing: existing.size, failed };
}

async function findExisting(ids: readonly string[]): Promise<Set<string>> {
  const found = new Set<string>();
  for (let from = 0; from < ids.length; from += ASKED_AT_ONCE) {
    const machineIds = ids.slice(from, from + ASKED_AT_ONCE);
    for (const { machineId } of (await fleet.getMachines({ machineIds })).machines) found.add(machineId);
  }
  return found;
}
