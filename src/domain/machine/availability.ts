/**
 * Is a machine unavailable, and why? It counts for disruption budgets and for the limits of rollouts, and the command line,
 * the console and explanations show the same answer. A machine that was never in service, and one that has left it, is
 * neither available nor unavailable. The database has the same rules (ingot_unavailable_reason in the migrations), and a test
 * compares the two on every combination.
 */
import type { Presence } from '../agent/presence.ts';
import { type Conditions, type ConditionType, isTrue } from '../condition/condition.ts';
import { isDisruptive } from '../operation/disruption.ts';
import type { OperationType } from '../operation/operation-type.ts';
import type { Phase } from './phase.ts';
import type { ServiceState } from './service-state.ts';

export interface AvailabilityInput {
  readonly phase: Phase;
  readonly service: ServiceState | null;
  readonly presence: Presence | null;
  readonly conditions: Conditions;
  readonly activeOperationId: string | null;
  readonly activeOperationType: OperationType | null;
  /** When it first was READY or active; null: never. */
  readonly enteredServiceAt: Date | null;
}

type Test =
  | { readonly condition: ConditionType }
  | { readonly service: ServiceState }
  | { readonly phase: Phase }
  | { readonly operation: 'disruptive' }
  | { readonly presence: Presence };

interface Rule {
  readonly test: Test;
  /** The part of a sentence after "because". */
  readonly because: string;
}

/** The first that holds is the reason. The ones that last longest come first. */
export const UNAVAILABLE = {
  flagged_retired: { test: { condition: 'Retired' }, because: 'it is flagged Retired' },
  flagged_rma: { test: { condition: 'RMA' }, because: 'it is flagged RMA' },
  needs_intervention: { test: { condition: 'NeedsIntervention' }, because: 'an operator must look at it' },
  quarantined: { test: { service: 'quarantined' }, because: 'it is quarantined' },
  draining: { test: { service: 'draining' }, because: 'it is being drained' },
  maintenance: { test: { phase: 'MAINTENANCE' }, because: 'it is in maintenance' },
  operation: { test: { operation: 'disruptive' }, because: 'an operation works on it' },
  agent_lost: { test: { presence: 'expired' }, because: 'its agent is lost' },
  offline: { test: { service: 'offline' }, because: 'it is offline' },
} as const satisfies Record<string, Rule>;

export type UnavailableReason = keyof typeof UNAVAILABLE;
export const UNAVAILABLE_REASONS = Object.keys(UNAVAILABLE) as UnavailableReason[];

/** Taken out on purpose: the fleet does not expect these machines to serve. */
const LEFT_SERVICE: readonly ServiceState[] = ['retired', 'removing', 'deleted'];

export interface Availability {
  /** Null: it does not count, because it was never in service, or has left it. */
  readonly available: boolean | null;
  readonly reason: UnavailableReason | null;
  /** In words that follow "because"; empty for an available machine. */
  readonly message: string;
}

const AVAILABLE: Availability = { available: true, reason: null, message: '' };

export function availability(machine: AvailabilityInput): Availability {
  const outside = outsideOfService(machine);
  if (outside !== null) return { available: null, reason: null, message: outside };
  const rule = RULES.find(({ holds }) => holds(machine));
  if (rule === undefined) return AVAILABLE;
  return { available: false, reason: rule.reason, message: messageOf(rule.reason, machine) };
}

/** Why the machine does not count; null where it does. */
function outsideOfService(machine: AvailabilityInput): string | null {
  const { enteredServiceAt, service } = machine;
  // The operation that takes it out of service counts until it has ended.
  const hasLeft = service !== null && LEFT_SERVICE.includes(service) && !isWorkedOn(machine);
  if (hasLeft) return `it has left service: it is ${service}`;
  return enteredServiceAt === null ? 'it was never in service' : null;
}

/** Whether an operation of this type takes the machine from those that are available. */
export function takesOutOfService(type: OperationType, machine: AvailabilityInput): boolean {
  return isDisruptive(type) && availability(machine).available === true;
}

/** Every machine of a list is asked, so what a test compares is found out once. */
const RULES = UNAVAILABLE_REASONS.map((reason) => ({ reason, holds: predicateOf(UNAVAILABLE[reason].test) }));

function predicateOf(test: Test): (machine: AvailabilityInput) => boolean {
  if ('condition' in test) return ({ conditions }) => isTrue(conditions, test.condition);
  if ('service' in test) return ({ service }) => service === test.service;
  if ('phase' in test) return ({ phase }) => phase === test.phase;
  if ('presence' in test) return ({ presence }) => presence === test.presence;
  return isWorkedOn;
}

function isWorkedOn({ activeOperationType }: AvailabilityInput): boolean {
  return activeOperationType !== null && isDisruptive(activeOperationType);
}

/** With details: the operation, or the condition's message. */
function messageOf(reason: UnavailableReason, machine: AvailabilityInput): string {
  const { test, because }: Rule = UNAVAILABLE[reason];
  if ('operation' in test) return `${because}: ${machine.activeOperationType} ${machine.activeOperationId}`;
  const detail = 'condition' in test ? machine.conditions[test.condition]?.message : '';
  return detail ? `${because}: ${detail}` : because;
}
