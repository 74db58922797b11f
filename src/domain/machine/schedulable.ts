/**
 * May work be placed on the machine right now? Server, command line and console have the same answer, with its reason; what
 * the machine's agent reports can't overrule it. The database has the same rules for its filters
 * (store/machines/schedulable-column.ts), and a test compares the two on every combination.
 *
 * An active operation makes the machine unschedulable: a reboot or a reimage stops its workloads, a drain moves them away,
 * and after any other operation it is not known before the end whether the machine is healthy.
 */

import type { Presence } from '../agent/presence.ts';
import { type Conditions, type ConditionType, isTrue } from '../condition/condition.ts';
import type { Phase } from './phase.ts';
import type { ServiceState } from './service-state.ts';

export interface SchedulableInput {
  readonly phase: Phase;
  readonly service: ServiceState | null;
  readonly presence: Presence | null;
  readonly conditions: Conditions;
  readonly activeOperationId: string | null;
}

/** What a rule tests, as data, so that the SQL expression is made from the same table. */
export type SchedulableTest =
  | { readonly service: ServiceState | null }
  | { readonly condition: ConditionType }
  | { readonly phase: Phase }
  | { readonly operation: 'under way' }
  | { readonly presenceIsNot: Presence };

interface Rule {
  readonly test: SchedulableTest;
  /** The part of a sentence after "because". */
  readonly because: string;
}

/** The first that holds is the reason. The ones that last longest come first. */
export const UNSCHEDULABLE = {
  deleted: { test: { service: 'deleted' }, because: 'it was removed from the inventory' },
  flagged_retired: { test: { condition: 'Retired' }, because: 'it is flagged Retired' },
  flagged_rma: { test: { condition: 'RMA' }, because: 'it is flagged RMA' },
  removing: { test: { service: 'removing' }, because: 'it is being removed' },
  retired: { test: { service: 'retired' }, because: 'it is retired: taken out of scheduling on purpose' },
  draining: { test: { service: 'draining' }, because: 'it is being drained' },
  quarantined: { test: { service: 'quarantined' }, because: 'it is quarantined' },
  needs_intervention: { test: { condition: 'NeedsIntervention' }, because: 'an operator must look at it' },
  maintenance: { test: { phase: 'MAINTENANCE' }, because: 'it is in maintenance' },
  enrolling: { test: { service: 'enrolling' }, because: 'its onboarding is not over' },
  operation: { test: { operation: 'under way' }, because: 'an operation is under way' },
  drained: { test: { condition: 'Drained' }, because: 'it is drained' },
  bootstrap_issued: {
    test: { service: 'bootstrap_issued' },
    because: 'its token was issued, and its agent has not registered',
  },
  offline: { test: { service: 'offline' }, because: 'it is offline' },
  no_agent: { test: { service: null }, because: 'no agent reports for it' },
  agent_not_ready: { test: { presenceIsNot: 'ready' }, because: 'its agent is not ready' },
} as const satisfies Record<string, Rule>;

export type UnschedulableReason = keyof typeof UNSCHEDULABLE;
export const UNSCHEDULABLE_REASONS = Object.keys(UNSCHEDULABLE) as UnschedulableReason[];

export type Schedulable =
  | { readonly schedulable: true; readonly reason: null; readonly message: '' }
  | { readonly schedulable: false; readonly reason: UnschedulableReason; readonly message: string };

const YES: Schedulable = { schedulable: true, reason: null, message: '' };

export function schedulable(machine: SchedulableInput): Schedulable {
  const rule = RULES.find(({ holds }) => holds(machine));
  if (rule === undefined) return YES;
  return { schedulable: false, reason: rule.reason, message: messageOf(rule.reason, machine) };
}

/** Every machine of a list is asked, so what a test compares is found out once. */
const RULES = UNSCHEDULABLE_REASONS.map((reason) => ({
  reason,
  holds: predicateOf(UNSCHEDULABLE[reason].test),
}));

function predicateOf(test: SchedulableTest): (machine: SchedulableInput) => boolean {
  if ('service' in test) return ({ service }) => service === test.service;
  if ('condition' in test) return ({ conditions }) => isTrue(conditions, test.condition);
  if ('phase' in test) return ({ phase }) => phase === test.phase;
  if ('operation' in test) return ({ activeOperationId }) => activeOperationId !== null;
  return ({ presence }) => presence !== test.presenceIsNot;
}

/** With details: the operation's id, or the condition's message. */
function messageOf(reason: UnschedulableReason, machine: SchedulableInput): string {
  const { test, because }: Rule = UNSCHEDULABLE[reason];
  if ('operation' in test) return `${because}: ${machine.activeOperationId}`;
  if ('presenceIsNot' in test) return `${because}: ${machine.presence ?? 'it has none'}`;
  const detail = 'condition' in test ? machine.conditions[test.condition]?.message : '';
  return detail ? `${because}: ${detail}` : because;
}
