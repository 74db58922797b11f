/** The API calls of bulk actions on machines. */
import { machines } from '../../api/clients.ts';
import { type BulkActionName, type Candidate, candidateFor } from './bulk-actions.ts';
import { MACHINES_AT_ONCE, readMachines } from './read-machines.ts';

export interface BulkChoice {
  /** Of a REIMAGE; empty means the server's default. */
  readonly imageRef: string;
}

type Start = (
  candidate: Candidate,
  requestId: string,
  choice: BulkChoice,
) => Promise<{ operationId: string }>;

const STARTS = {
  ENTER_MAINTENANCE: ({ machineId }, requestId) => machines.enterMaintenance({ machineId, requestId }),
  EXIT_MAINTENANCE: ({ machineId }, requestId) => machines.exitMaintenance({ machineId, requestId }),
  REBOOT: ({ machineId }, requestId) => machines.rebootMachine({ machineId, requestId }),
  REIMAGE: ({ machineId }, requestId, { imageRef }) =>
    machines.reimageMachine({ machineId, requestId, imageRef }),
  CANCEL: ({ activeOperationId }) =>
    machines.cancelOperation({
      operationId: activeOperationId,
      reason: 'bulk cancel in the console',
    }),
} as const satisfies Record<BulkActionName, Start>;

export async function startBulk(
  name: BulkActionName,
  candidate: Candidate,
  requestId: string,
  choice: BulkChoice,
): Promise<string> {
  const start: Start = STARTS[name];
  return (await start(candidate, requestId, choice)).operationId;
}

/** Reads the current state of all of them, in the given order. */
export async function readCandidates(
  name: BulkActionName,
  ids: readonly string[],
  onProgress: (done: number) => void,
  signal: AbortSignal,
): Promise<Candidate[]> {
  const candidates: Candidate[] = [];
  for (let from = 0; from < ids.length; from += MACHINES_AT_ONCE) {
    const batch = ids.slice(from, from + MACHINES_AT_ONCE);
    const found = new Map((await readMachines(batch, signal)).map((machine) => [machine.machineId, machine]));
    candidates.push(...batch.map((id) => candidateFor(name, id, found.get(id) ?? null)));
    onProgress(candidates.length);
  }
  return candidates;
}
