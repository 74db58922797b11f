/**
 * What a look says about a machine: the rules, as one table, read from top to bottom. Each rule sees the conditions
 * as the rules above it left them, and answers with a verdict, or with null where it can't know. docs/conditions.md
 * says the same in words.
 *
 * Provisioned, NeedsIntervention, OperationCanceled, RMA and Retired have no rule: they tell what somebody did, and
 * whoever did it has set them. A probe can't know better.
 *
 * While an operation is active nothing is derived: the operation owns its machine's story, and a machine that is
 * being rebooted is not unreachable.
 */
import {
  applyCondition,
  type ConditionChange,
  type ConditionType,
  isTrue,
} from '../domain/condition/condition.ts';
import { drainedAsSeen, OUT_OF_CLUSTER, type Verdict } from '../domain/condition/node-observation.ts';
import type { Machine } from '../domain/machine/machine.ts';
import type { ClusterProbeResult, Inspect, ProbeResult } from '../providers/provider.ts';
import type { Misses } from '../store/machines/machine-probes.ts';

/** Null: nothing was learned. */
export interface ProbeResults extends Readonly<Record<keyof Inspect, ProbeResult | null>> {
  readonly cluster: ClusterProbeResult | null;
}

export interface Findings {
  readonly changes: readonly ConditionChange[];
  readonly misses: Misses;
}

interface Facts {
  /** With the conditions that the rules above have found. */
  readonly machine: Machine;
  readonly seen: ProbeResults;
  /** This look included. */
  readonly misses: Misses;
  /** So many misses in a row mean that nobody is there. */
  readonly patience: number;
}

interface Rule {
  readonly type: ConditionType;
  /** A reason tells why the status last changed; that of a summary tells what is wrong now. */
  readonly summary?: true;
  readonly verdict: (facts: Facts) => Verdict | null;
}

const RULES = [
  { type: 'Reachable', verdict: ({ seen, misses, patience }) => patient(seen.host, misses.host, patience) },
  { type: 'BMCReachable', verdict: ({ seen, misses, patience }) => patient(seen.bmc, misses.bmc, patience) },
  // Its reason says whether the node takes work.
  { type: 'InCustomerCluster', summary: true, verdict: ({ seen }) => told(seen.cluster) },
  { type: 'Drained', verdict: ({ machine, seen }) => drained(machine, seen.cluster) },
  { type: 'Degraded', summary: true, verdict: ({ machine }) => degraded(machine) },
] as const satisfies readonly Rule[];

export function deriveConditions(
  machine: Machine,
  seen: ProbeResults,
  missesBefore: Misses,
  patience: number,
): Findings {
  if (machine.activeOperationId !== null) return { changes: [], misses: { host: 0, bmc: 0 } };
  const misses = {
    host: countMisses(missesBefore.host, seen.host, patience),
    bmc: countMisses(missesBefore.bmc, seen.bmc, patience),
  };
  const changes: ConditionChange[] = [];
  let { conditions } = machine;
  for (const rule of RULES as readonly Rule[]) {
    const verdict = rule.verdict({ machine: { ...machine, conditions }, seen, misses, patience });
    const before = conditions[rule.type];
    if (verdict === null) continue;
    if (before?.status === verdict.status && (!rule.summary || before.reason === verdict.reason)) continue;
    const change = { type: rule.type, ...verdict };
    changes.push(change);
    conditions = applyCondition(conditions, change, '');
  }
  return { changes, misses };
}

/** Counts no further than it matters, so that a machine that stays away costs no write. */
function countMisses(before: number, sighting: ProbeResult | null, patience: number): number {
  if (sighting === null) return before;
  return sighting.ok ? 0 : Math.min(before + 1, patience);
}

function told(sighting: ProbeResult | null): Verdict | null {
  return sighting && { status: sighting.ok, reason: sighting.reason, message: sighting.message };
}

/** Good news at once, bad news when it has been confirmed. */
function patient(sighting: ProbeResult | null, misses: number, patience: number): Verdict | null {
  return sighting?.ok === false && misses < patience ? null : told(sighting);
}

/**
 * Drained is what the cluster was seen to say. Where it says nothing, one thing is still known: a machine that was out
 * of its cluster for maintenance, and is not in maintenance any more, may be in use again.
 */
function drained(machine: Machine, seen: ClusterProbeResult | null): Verdict | null {
  const { phase, conditions } = machine;
  const verdict = seen?.sight ? drainedAsSeen(phase, seen.sight) : null;
  if (verdict !== null || phase === 'MAINTENANCE' || isGone(machine)) return verdict;
  const { Drained: before } = conditions;
  if (!before?.status || before.reason !== OUT_OF_CLUSTER) return null;
  return { status: false, reason: 'LeftMaintenance', message: 'out of maintenance: it may be in use again' };
}

interface Fault {
  readonly reason: string;
  readonly message: string;
  readonly holds: (machine: Machine) => boolean;
}

/** The first that holds is the reason. */
const FAULTS = [
  {
    reason: 'HostAndBMCUnreachable',
    message: 'it should be in service, and neither its host nor its BMC answers',
    holds: (machine) => hostIsMissing(machine) && bmcIsMissing(machine),
  },
  {
    reason: 'HostUnreachable',
    message: 'it should be in service, and its host does not answer',
    holds: hostIsMissing,
  },
  { reason: 'BMCUnreachable', message: 'its BMC does not answer', holds: bmcIsMissing },
] as const satisfies readonly Fault[];

const FAULT_REASONS: readonly string[] = FAULTS.map(({ reason }) => reason);

/** Degraded for a reason that is not in the table was said by somebody else, and is theirs to take back. */
function degraded(machine: Machine): Verdict | null {
  const before = machine.conditions.Degraded;
  if (before?.status && !FAULT_REASONS.includes(before.reason)) return null;
  const fault = isGone(machine) ? undefined : FAULTS.find(({ holds }) => holds(machine));
  if (fault) return { status: true, reason: fault.reason, message: fault.message };
  if (!before?.status) return null;
  return { status: false, reason: 'Recovered', message: 'what was wrong is over' };
}

/** Nothing is expected of it any more. */
function isGone({ conditions }: Machine): boolean {
  return isTrue(conditions, 'RMA') || isTrue(conditions, 'Retired');
}

function hostIsMissing({ phase, conditions }: Machine): boolean {
  const inService = phase === 'READY' && isTrue(conditions, 'Provisioned');
  return inService && conditions.Reachable?.status === false;
}

function bmcIsMissing({ conditions }: Machine): boolean {
  return conditions.BMCReachable?.status === false;
}
