/**
 * The approval of an operation by a second person. An operation that needs one exists, holds its machine and waits: no
 * replica claims it, and the machine does not change before another identity approves.
 */
import type { Role } from '../actor.ts';
import type { CheckedFilter } from '../filter/checked-filter.ts';
import { filterPredicate, type Predicate } from '../filter/predicate.ts';
import type { Machine } from '../machine/machine.ts';
import type { OperationType } from './operation-type.ts';

export const APPROVAL_STATES = ['waiting', 'approved', 'rejected', 'expired'] as const;
export type ApprovalState = (typeof APPROVAL_STATES)[number];

export interface Approval {
  readonly state: ApprovalState;
  /** The name of the rule that asks for it. */
  readonly rule: string;
  /** The least role that may approve. */
  readonly approverRole: Role;
  readonly expiresAt: string;
  /** As "role:name"; empty while it waits. */
  readonly decidedBy: string;
  readonly decidedAt: string | null;
  readonly comment: string;
}

/** What the operation shows as the reason of its wait. */
export const WAITING_FOR_APPROVAL = 'waiting for approval';

/** What a rule reads: the machine, and what is asked for. */
export interface ApprovalSubject {
  readonly machine: Machine;
  readonly type: OperationType;
  readonly planId: string;
  readonly params: Readonly<Record<string, string>>;
}

export interface ApprovalRule {
  readonly name: string;
  readonly approverRole: Role;
  readonly expiresAfterSeconds: number;
  readonly applies: Predicate<ApprovalSubject>;
}

export function approvalRule(
  rule: Omit<ApprovalRule, 'applies'>,
  filter: CheckedFilter<ApprovalSubject>,
): ApprovalRule {
  return { ...rule, applies: filterPredicate(filter) };
}

/** By the first rule that applies; null where none does. */
export function approvalFor(
  rules: readonly ApprovalRule[],
  subject: ApprovalSubject,
  now: Date,
): Approval | null {
  const rule = rules.find(({ applies }) => applies(subject));
  if (!rule) return null;
  return {
    state: 'waiting',
    rule: rule.name,
    approverRole: rule.approverRole,
    expiresAt: new Date(now.getTime() + rule.expiresAfterSeconds * 1000).toISOString(),
    decidedBy: '',
    decidedAt: null,
    comment: '',
  };
}
