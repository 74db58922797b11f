/**
 * The indicator of a machine. It is written down before it is switched on, and forgotten only after it was switched off: whatever crashes
 * in between, the server knows of an indicator that may be on and switches it off when its time is over.
 */
import type { Scope } from '../../domain/access/scope.ts';
import { type Actor, actorLabel } from '../../domain/actor.ts';
import { type Locating, locatingFor } from '../../domain/hardware/locating.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import type { Database } from '../../store/database/database.ts';
import { changeLocating } from '../../store/hardware/locating.ts';
import {
  administrationOf,
  type BmcCallDependencies,
  bmcFault,
  directCall,
  machineWithBmc,
} from './bmc-call.ts';

export interface LocateDependencies extends BmcCallDependencies {
  readonly database: Database;
  readonly now: () => Date;
}

export interface LocateCall {
  readonly machineId: string;
  /** Null: off. */
  readonly ms: number | null;
  readonly reason: string;
  readonly actor: Actor;
  readonly scope: Scope | null;
  readonly signal: AbortSignal;
}

/** Null: it is off. */
export async function locateMachine(
  dependencies: LocateDependencies,
  call: LocateCall,
): Promise<Locating | null> {
  const { database, now } = dependencies;
  const { machineId, ms, actor, reason: comment, signal } = call;
  const machine = await machineWithBmc(dependencies, machineId, call.scope);
  const bmc = administrationOf(dependencies, machine);
  const before = machine.locating;
  // Also off is written down first, as an end that is now: where the BMC does not answer, the server goes on trying.
  const wanted =
    ms === null
      ? before && { ...before, dueAt: now().toISOString() }
      : locatingFor(before, { at: now(), ms, by: actorLabel(actor) });
  if (wanted !== null) await changeLocating(database, { machineId, actor, comment, to: wanted });
  try {
    await bmc.setIndicator(directCall(machine, signal), ms === null ? 'off' : 'on');
  } catch (error) {
    if (ms !== null) await changeLocating(database, { machineId, actor, comment: 'it failed', to: before });
    throw error instanceof StepFailure ? bmcFault(machine, error) : error;
  }
  if (ms !== null) return wanted;
  await changeLocating(database, { machineId, actor, comment, to: null });
  return null;
}
