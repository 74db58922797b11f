/**
 * Ends maintenance that is over, where its order asks for that. Every replica searches; the request id, which is made from the end
 * of the maintenance, lets one exit start. An exit that was canceled or that failed is not started again: the machine is shown
 * overdue. One that is refused is tried again.
 */
import type { Actor } from '../domain/actor.ts';
import { Fault } from '../domain/error/fault.ts';
import { type StartDependencies, startOnMachine } from '../operations/start/start-on-machine.ts';
import { operationRules } from '../operations/start/start-operation.ts';
import type { Database } from '../store/database/database.ts';
import {
  type EndingMaintenance,
  endingMaintenance,
  exitRequestId,
} from '../store/machines/ending-maintenance.ts';
import { BackgroundLoop, type LoopWatch } from '../time/repeat-until-stopped.ts';

export interface MaintenanceExpiryOptions {
  readonly database: Database;
  readonly starts: StartDependencies;
  readonly watch: LoopWatch;
}

const EVERY_MS = 5_000;
const BATCH = 100;
const SERVER = { kind: 'system', id: 'maintenance' } as const satisfies Actor;

export function maintenanceExpiry(options: MaintenanceExpiryOptions): BackgroundLoop {
  return new BackgroundLoop({
    name: 'ending maintenance',
    everyMs: EVERY_MS,
    pass: (stop) => endMaintenance(options, stop),
    watch: options.watch,
  });
}

async function endMaintenance(
  { database, starts }: MaintenanceExpiryOptions,
  stop: AbortSignal,
): Promise<void> {
  let ending: EndingMaintenance[];
  let after = '';
  do {
    ending = await endingMaintenance(database, after, BATCH);
    await Promise.all(ending.map((machine) => startExit(starts, machine)));
    after = ending.at(-1)?.machineId ?? '';
  } while (ending.length === BATCH && !stop.aborted);
}

async function startExit(starts: StartDependencies, { machineId, until }: EndingMaintenance): Promise<void> {
  const rules = operationRules({ type: 'EXIT_MAINTENANCE', params: {} });
  const call = {
    machineId,
    requestId: exitRequestId(until),
    actor: SERVER,
    scope: null,
    reason: `its maintenance was over at ${until}`,
  };
  try {
    await startOnMachine(starts, call, {
      ...rules,
      decide: (context) => {
        // It may have been given a new end since it was found.
        if (context.machine.maintenance?.until !== until) throw endWasChanged(machineId);
        return rules.decide(context);
      },
    });
  } catch (error) {
    // It stays overdue, and the next pass tries again.
    if (!(error instanceof Fault)) throw error;
  }
}

function endWasChanged(machineId: string): Fault {
  return new Fault('MACHINE_CHANGED_SINCE', {
    message: `the maintenance of ${machineId} has another end now`,
    metadata: { machine_id: machineId },
  });
}
