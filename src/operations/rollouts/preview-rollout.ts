/**
 * What CreateRollout would do now, and changes nothing: the machines by wave, who is left out and why, what binds, how long it
 * takes, and what would be refused. Creation resolves machines with the same function.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Caller } from '../../domain/access/caller.ts';
import type { Scope } from '../../domain/access/scope.ts';
import { Fault } from '../../domain/error/fault.ts';
import { type Estimate, estimateOf, roundsOf } from '../../domain/rollout/estimate.ts';
import { nextOpening } from '../../domain/rollout/open-window.ts';
import { allowedOf } from '../../domain/rollout/spec/amount.ts';
import type { RolloutSpec } from '../../domain/rollout/spec/rollout-spec.ts';
import { operationTypeOf } from '../../domain/rollout/spec/step-type.ts';
import { approvalDuration, operationDurations } from '../../store/operations/operation-durations.ts';
import { machinesAtWork } from '../../store/rollouts/machines-at-work.ts';
import { checkSomethingToDo } from './create-rollout.ts';
import type { LimitDependencies } from './limit-use.ts';
import { type GroupsOfWave, type PreviewLimit, previewLimits } from './preview-limits.ts';
import { previewWarnings } from './preview-warnings.ts';
import {
  checkMayRollOut,
  type ResolvedMachine,
  type ResolvedRollout,
  resolveRollout,
} from './resolve-rollout.ts';
import type { RolloutDependencies } from './rollout-dependencies.ts';
import { missingReferences } from './rollout-input.ts';

const MAX_IDS = 100;

export interface PreviewWave {
  readonly number: number;
  readonly name: string;
  readonly machines: number;
  /** The first of them. */
  readonly machineIds: readonly string[];
  readonly gate: string;
  readonly approvalRule: string;
}

export interface IneligibleGroup {
  readonly errorCode: string;
  /** Of the first of them. */
  readonly message: string;
  readonly machines: number;
  readonly machineIds: readonly string[];
}

export interface RolloutPreview {
  readonly total: number;
  readonly eligible: number;
  readonly waves: readonly PreviewWave[];
  /** The largest group first. */
  readonly ineligible: readonly IneligibleGroup[];
  readonly limits: readonly PreviewLimit[];
  readonly estimate: Estimate | null;
  /** Null: no window opens within a year. */
  readonly startsAt: Date | null;
  /** What creation would refuse, as sentences. */
  readonly refusals: readonly string[];
  readonly warnings: readonly string[];
}

export async function previewRollout(
  dependencies: RolloutDependencies & LimitDependencies,
  spec: RolloutSpec,
  caller: Caller,
): Promise<RolloutPreview> {
  const { database, now } = dependencies;
  const resolved = await resolveRollout(dependencies, spec, caller);
  const refusals = [
    ...(await missingReferences(database, spec, caller.scope)),
    ...refusalOf(() => checkMayRollOut(spec, caller)),
    ...(spec.follow ? [] : refusalOf(() => checkSomethingToDo(resolved))),
  ].map(({ message }) => message);
  await nextTurn();
  const eligible = resolved.machines.filter(({ wave }) => wave > 0);
  const startsAt = nextOpening(spec, later(spec.startAt, now()));
  const { limits, groups } = await previewLimits(dependencies, { spec, machines: eligible, caller });
  const atWork = await machinesAtWork(
    database,
    eligible.map(({ machineId }) => machineId),
  );
  await nextTurn();
  const estimated =
    startsAt && (await estimate(dependencies, spec, { ...resolved, groups, startsAt, scope: caller.scope }));
  return {
    total: resolved.machines.length,
    eligible: eligible.length,
    waves: wavesOf(resolved),
    ineligible: ineligibleGroups(resolved.machines),
    limits,
    estimate: estimated,
    startsAt,
    refusals,
    warnings: previewWarnings({ spec, resolved, atWork, startsAt, estimate: estimated }),
  };
}

/** What creation would throw is a sentence here. */
function refusalOf(check: () => void): Fault[] {
  try {
    check();
    return [];
  } catch (error) {
    if (error instanceof Fault) return [error];
    throw error;
  }
}

function later(one: Date | null, other: Date): Date {
  return one !== null && one > other ? one : other;
}

function wavesOf({ waves, machines }: ResolvedRollout): PreviewWave[] {
  const first = new Map<number, string[]>();
  for (const { machineId, wave } of machines) {
    const ids = first.get(wave) ?? [];
    if (ids.length < MAX_IDS) ids.push(machineId);
    first.set(wave, ids);
  }
  return waves.map(({ number, name, machines: count, gate, approvalRule }) => ({
    ...{ number, name, gate, approvalRule },
    machines: count,
    machineIds: first.get(number) ?? [],
  }));
}

function ineligibleGroups(machines: readonly ResolvedMachine[]): IneligibleGroup[] {
  const groups = new Map<string, { message: string; machines: number; machineIds: string[] }>();
  for (const { machineId, wave, errorCode, message } of machines) {
    if (wave > 0) continue;
    const group = groups.get(errorCode) ?? { message, machines: 0, machineIds: [] };
    group.machines += 1;
    if (group.machineIds.length < MAX_IDS) group.machineIds.push(machineId);
    groups.set(errorCode, group);
  }
  return [...groups]
    .map(([errorCode, group]) => ({ errorCode, ...group }))
    .sort((one, other) => other.machines - one.machines || (one.errorCode < other.errorCode ? -1 : 1));
}

interface Estimated extends ResolvedRollout {
  readonly groups: GroupsOfWave;
  readonly startsAt: Date;
  readonly scope: Scope | null;
}

async function estimate(
  { database }: RolloutDependencies,
  spec: RolloutSpec,
  { waves, machines, groups, startsAt, scope }: Estimated,
): Promise<Estimate | null> {
  const types = [...new Set(spec.steps.flatMap((step) => operationTypeOf(step) ?? []))];
  const parallel = parallelOf(spec, machines.length);
  const inRounds = waves.map(({ number, gate, machines: count }) => ({
    rounds: roundsOf(count, parallel, groups.get(number) ?? []),
    gate,
  }));
  const isGated = waves.some(({ gate }) => gate !== 'automatic');
  const history = {
    types: await operationDurations(database, types, scope),
    approvals: isGated ? await approvalDuration(database, scope) : null,
  };
  return estimateOf(spec, inRounds, history, startsAt);
}

/** Null: no limit. */
function parallelOf({ maxParallel }: RolloutSpec, machines: number): number | null {
  return maxParallel === null ? null : allowedOf(maxParallel, machines);
}
