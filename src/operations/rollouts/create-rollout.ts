import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Caller } from '../../domain/access/caller.ts';
import type { Rollout } from '../../domain/rollout/rollout.ts';
import { noEligibleMachines } from '../../domain/rollout/rollout-faults.ts';
import type { RolloutSpec } from '../../domain/rollout/spec/rollout-spec.ts';
import { checkDeadline } from '../../domain/rollout/spec/spec-input.ts';
import { findRollout } from '../../store/rollouts/find-rollouts.ts';
import { findByRequest, insertRollout } from '../../store/rollouts/insert-rollout.ts';
import { requestFingerprint } from '../../store/rollouts/request-fingerprint.ts';
import { checkMayRollOut, type ResolvedRollout, resolveRollout } from './resolve-rollout.ts';
import type { RolloutDependencies } from './rollout-dependencies.ts';
import { missingReferences } from './rollout-input.ts';

export interface CreateRolloutCall {
  readonly spec: RolloutSpec;
  readonly requestId: string;
  readonly caller: Caller;
}

/** What only a rollback gives: the rollout that it undoes, and parameters of single machines. */
export interface RollbackParts {
  readonly rollsBack: string;
  /** As it was asked for: another one under the same request id is other content. */
  readonly reason: string;
  readonly paramsOf: (machineId: string) => Readonly<Record<string, string>>;
  /** Machines that can't go back, and why. */
  readonly refused: ReadonlyMap<string, string>;
}

const NOT_A_ROLLBACK: RollbackParts = {
  rollsBack: '',
  reason: '',
  paramsOf: () => ({}),
  refused: new Map(),
};

/** Fixes the machines and stores the rollout; it starts by itself. The same request again answers the same rollout. */
export async function createRollout(
  dependencies: RolloutDependencies,
  { spec, requestId, caller }: CreateRolloutCall,
  parts: RollbackParts = NOT_A_ROLLBACK,
): Promise<Rollout> {
  const { database, newRolloutId, now } = dependencies;
  const { actor, scope } = caller;
  const fingerprint =
    parts.rollsBack === '' ? requestFingerprint(JSON.stringify(['', spec])) : rollbackFingerprint(parts);
  await nextTurn();
  const before = requestId === '' ? null : await findByRequest(database, { actor, requestId, fingerprint });
  if (before !== null) return storedRollout(dependencies, before);
  checkDeadline(spec.deadline, 'spec.deadline', now());
  const [missing] = await missingReferences(database, spec, scope);
  if (missing) throw missing;
  checkMayRollOut(spec, caller);
  const resolved = withoutRefused(await resolveRollout(dependencies, spec, caller), parts);
  const { waves, machines } = spec.follow ? following(spec, resolved) : resolved;
  if (!spec.follow) checkSomethingToDo(resolved);
  const rolloutId = newRolloutId();
  const stored = await insertRollout(database, {
    rolloutId,
    spec,
    state: spec.startAt !== null && spec.startAt > now() ? 'scheduled' : 'running',
    actor,
    scope,
    requestId: requestId === '' ? rolloutId : requestId,
    fingerprint,
    rollsBack: parts.rollsBack,
    waves,
    machines,
    paramsOf: parts.paramsOf,
  });
  return storedRollout(dependencies, stored);
}

/** Neither the spec nor the machines are in it: they follow from a rollout that may have changed since. */
export function rollbackFingerprint({
  rollsBack,
  reason,
}: Pick<RollbackParts, 'rollsBack' | 'reason'>): string {
  return JSON.stringify([rollsBack, reason]);
}

export async function storedRollout({ database }: RolloutDependencies, rolloutId: string): Promise<Rollout> {
  const rollout = await findRollout(database, rolloutId, null);
  if (rollout === null) throw new Error(`${rolloutId} was stored and can't be read`);
  return rollout;
}

function withoutRefused(resolved: ResolvedRollout, { refused }: RollbackParts): ResolvedRollout {
  if (refused.size === 0) return resolved;
  const ineligible = [...refused].map(([machineId, message]) => ({
    machineId,
    wave: 0,
    errorCode: 'NOTHING_TO_ROLL_BACK',
    message,
    groups: [],
  }));
  return { ...resolved, machines: [...resolved.machines, ...ineligible] };
}

/** Machines that are not eligible yet join later, when they are; there is a wave for them from the start. */
function following(spec: RolloutSpec, { waves, machines }: ResolvedRollout): ResolvedRollout {
  const wave = { number: 1, name: 'rest', machines: 0, approvalRule: '', approverRole: 'operator' } as const;
  return {
    waves: waves.length > 0 ? waves : [{ ...wave, gate: spec.gates[0] ?? spec.gate }],
    machines: machines.filter((machine) => machine.wave > 0),
  };
}

export function checkSomethingToDo({ machines }: ResolvedRollout): void {
  if (machines.some(({ wave }) => wave > 0)) return;
  const [first] = machines;
  throw noEligibleMachines(
    first === undefined
      ? 'no machine matches'
      : `none of the ${machines.length} machines can take the first step; ${first.machineId}: ${first.message}`,
  );
}
