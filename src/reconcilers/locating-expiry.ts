/**
 * Switches off the indicators whose time is over. Every replica searches; one takes each machine, for as long as a try lasts. An indicator
 * that can't be switched off now is tried again later, with the reason shown on the machine.
 */
import type { Actor } from '../domain/actor.ts';
import { afterFailure, type Locating } from '../domain/hardware/locating.ts';
import type { Machine } from '../domain/machine/machine.ts';
import { StepFailure } from '../engine/step-handler.ts';
import { directCall } from '../operations/bmc/bmc-call.ts';
import type { Provider } from '../providers/provider.ts';
import type { Database } from '../store/database/database.ts';
import { changeLocating, claimDueLocating } from '../store/hardware/locating.ts';
import { BackgroundLoop, type LoopWatch } from '../time/repeat-until-stopped.ts';

export interface LocatingExpiryOptions {
  readonly database: Database;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly now: () => Date;
  readonly watch: LoopWatch;
}

const EVERY_MS = 1_000;
const BATCH = 20;
const ATTEMPT_LIMIT_MS = 60_000;
const SERVER = { kind: 'system', id: 'locating' } as const satisfies Actor;

export function locatingExpiry(options: LocatingExpiryOptions): BackgroundLoop {
  return new BackgroundLoop({
    name: 'switching off indicators',
    everyMs: EVERY_MS,
    pass: (stop) => switchOffDue(options, stop),
    watch: options.watch,
  });
}

async function switchOffDue(options: LocatingExpiryOptions, stop: AbortSignal): Promise<void> {
  const { database, now } = options;
  let due: Machine[];
  do {
    const at = now();
    // A replica that dies meanwhile holds none for longer.
    const heldUntil = new Date(at.getTime() + 2 * ATTEMPT_LIMIT_MS);
    due = await claimDueLocating(database, { at, heldUntil, limit: BATCH });
    await Promise.all(due.map((machine) => switchOff(options, machine, stop)));
  } while (due.length === BATCH && !stop.aborted);
}

async function switchOff(
  { database, providers, now }: LocatingExpiryOptions,
  machine: Machine,
  stop: AbortSignal,
): Promise<void> {
  const { machineId, locating } = machine;
  if (locating === null) return;
  const { until } = locating;
  const problem = await setIndicator(providers, machine, 'off', stop);
  const to = problem === null ? null : afterFailure(locating, now(), problem);
  const comment = 'its time was over';
  const isOver = await changeLocating(database, { machineId, actor: SERVER, comment, to, ifUntil: until });
  // Someone has asked for it again while it was switched off.
  if (!isOver && problem === null) await setIndicator(providers, machine, 'on', stop);
}

/** Null: it is done. */
async function setIndicator(
  providers: LocatingExpiryOptions['providers'],
  machine: Machine,
  to: 'on' | 'off',
  stop: AbortSignal,
): Promise<Locating['problem'] | null> {
  const bmc = providers.get(machine.spec.provider)?.capabilities.bmc;
  if (!bmc) return `provider ${machine.spec.provider} does not administer BMCs`;
  const signal = AbortSignal.any([stop, AbortSignal.timeout(ATTEMPT_LIMIT_MS)]);
  try {
    await bmc.setIndicator(directCall(machine, signal), to);
    return null;
  } catch (error) {
    if (error instanceof StepFailure) return error.failure.message;
    if (signal.aborted) return 'the BMC did not answer in time';
    throw error;
  }
}
