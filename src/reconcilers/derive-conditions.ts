/**
 * What a probe says about a machine: the rules, as one table, read from top to bottom. Each rule sees the conditions
 * as the rules above it left them, and returns a verdict, or null where it can't know. docs/conditions.md explains
 * them.
 *
 * Provisioned, NeedsIntervention, OperationCanceled, RMA and Retired have no rule: they record what an operation or an
 * operator did, and were set by it. A probe can't know better.
 *
 * While an operation is active nothing is derived: the operation decides about its machine, and a machine that is
 * being rebooted is not unreachable.
 */
import {
  applyCondition,
  type ConditionChange,
  type ConditionType,
  isTrue,
} from '../domain/condition/condition.ts';
import { drainedCondition, OUT_OF_CLUSTER, type Verdict } from '../domain/condition/node-observation.ts';
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
  /** With the conditions that the rules above have set. */
  readonly machine: Machine;
  readonly seen: ProbeResults;
  /** This probe included. */
  readonly misses: Misses;
  /** This many misses in a row mean that the machine is unreachable. */
  readonly maxMisses: number;
}

interface Rule {
  readonly type: ConditionType;
  /** A reason says why the status last changed; that of a summary says what is wrong now. */
  readonly summary?: true;
  readonly verdict: (facts: Facts) => Verdict | null;
}

const RULES = [
  {
    type: 'Reachable',
    verdict: ({ seen, misses, maxMisses }) => confirmed(seen.host, misses.host, maxMisses),
  },
  {
    type: 'BMCReachable',
    verdict: ({ seen, misses, maxMisses }) => confirmed(seen.bmc, misses.bmc, maxMisses),
  },
  // Its reason says whether the node takes work.
  { type: 'InCustomerCluster', summary: true, verdict: ({ seen }) => verdictOf(seen.cluster) },
  { type: 'Drained', verdict: ({ machine, seen }) => drained(machine, seen.cluster) },
  { type: 'Degraded', summary: true, verdict: ({ machine }) => degraded(machine) },
] as const satisfies readonly Rule[];

export function deriveConditions(
  machine: Machine,
  seen: ProbeResults,
  missesBefore: Misses,
  maxMisses: number,
): Findings {
  if (machine.activeOperationId !== null) return { changes: [], misses: { host: 0, bmc: 0 } };
  const misses = {
    host: countMisses(missesBefore.host, seen.host, maxMisses),
    bmc: countMisses(missesBefore.bmc, seen.bmc, maxMisses),
  };
  const changes: ConditionChange[] = [];
  let { conditions } = machine;
  for (const rule of RULES as readonly Rule[]) {
    const verdict = rule.verdict({ machine: { ...machine, conditions }, seen, misses, maxMisses });
    const before = conditions[rule.type];
    if (verdict === null) continue;
    if (before?.status === verdict.status && (!rule.summary || before.reason === verdict.reason)) continue;
    const change = { type: rule.type, ...verdict };
    changes.push(change);
    conditions = applyCondition(conditions, change, '');
  }
  return { changes, misses };
}

/** Counts no further than the limit, so that a machine that stays unreachable costs no write. */
function countMisses(before: number, result: ProbeResult | null, maxMisses: number): number {
  if (result === null) return before;
  return result.ok ? 0 : Math.min(before + 1, maxMisses);
}

function verdictOf(result: ProbeResult | null): Verdict | null {
  return result && { status: result.ok, reason: result.reason, message: result.message };
}

/** An answer counts at once, a miss only after it was repeated. */
function confirmed(result: ProbeResult | null, misses: number, maxMisses: number): Verdict | null {
  return result?.ok === false && misses < maxMisses ? null : verdictOf(result);
}

/**
 * Drained is what the cluster reports. Where it reports nothing, one thing is still known: a machine that was out of its
 * cluster for maintenance, and is not in maintenance any more, may be in use again.
 */
function drained(machine: Machine, seen: ClusterProbeResult | null): Verdict | null {
  const { phase, conditions } = machine;
  const verdict = seen?.sight ? drainedCondition(phase, seen.sight) : null;
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

/** Degraded for a reason that is not in the table was set by another part, which also clears it. */
function degraded(machine: Machine): Verdict | null {
  const before = machine.conditions.Degraded;
  if (before?.status && !FAULT_REASONS.includes(before.reason)) return null;
  const fault = isGone(machine) ? undefined : FAULTS.find(({ holds }) => holds(machine));
  if (fault) return { status: true, reason: fault.reason, message: fault.message };
  if (!before?.status) return null;
  return { status: false, reason: 'Recovered', message: 'what was wrong is over' };
}

/** It is not expected to answer any more. */
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
