/**
 * Every reason for which the server refuses a request: its class, the general form of its message, the cause, and what the
 * caller does about it. A reason that is not in here does not compile, and docs/errors.md is written from it.
 *
 * A start that could only fail is refused too. Its reason is then the failure code that the step would end with
 * (failure-code.ts), so that clients handle both in one place.
 */
import type { FailureCode } from './failure-code.ts';
import { MACHINE_REASONS } from './reasons/machine-reasons.ts';
import { NODE_REASONS } from './reasons/node-reasons.ts';
import { OPERATION_REASONS } from './reasons/operation-reasons.ts';
import type { ReasonRow } from './reasons/reason-row.ts';
import { REQUEST_REASONS } from './reasons/request-reasons.ts';
import { ROLLOUT_REASONS } from './reasons/rollout-reasons.ts';
import { SERVER_REASONS } from './reasons/server-reasons.ts';

export const REASON_GROUPS = {
  Requests: REQUEST_REASONS,
  'Machines and pools': MACHINE_REASONS,
  'Operations and plans': OPERATION_REASONS,
  Rollouts: ROLLOUT_REASONS,
  'Nodes, images and workflows': NODE_REASONS,
  'The server': SERVER_REASONS,
} as const satisfies Record<string, Readonly<Record<string, ReasonRow>>>;

export const REASONS = {
  ...REQUEST_REASONS,
  ...MACHINE_REASONS,
  ...OPERATION_REASONS,
  ...ROLLOUT_REASONS,
  ...NODE_REASONS,
  ...SERVER_REASONS,
} as const;

export type Reason = keyof typeof REASONS;

/** What a request depends on and does not find: a failure code, or a reason that is also used so. */
export type PreconditionReason =
  | FailureCode
  | { [R in Reason]: (typeof REASONS)[R] extends { alsoPrecondition: true } ? R : never }[Reason];
