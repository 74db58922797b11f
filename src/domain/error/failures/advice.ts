import type { OperatorAction } from '../../operation/operator-action.ts';
import type { FailureClass } from '../failure-class.ts';

/** Who removes the cause of a failure. */
export const ADVISED = {
  operator: 'the operator of the machines: specs, labels, plans, images and operations are theirs',
  admin: 'the administrator of Ingot: configuration, credentials, the server and its log',
  site: 'hands at the machine, its BMC, its network or its power',
  upstream: 'the administrator of the MAAS or of the cluster',
} as const satisfies Record<string, string>;

export type Advised = keyof typeof ADVISED;

/** What an operator does about a failure. Both texts are half sentences, so that they can be joined. */
export interface FailureAdvice {
  readonly whatHappened: string;
  /** What to check and to fix before the action: without that, the same failure comes again. */
  readonly check: string;
  /** Continues the operation once the cause is removed. */
  readonly action: OperatorAction;
  readonly who: Advised;
  /** An upstream that does not answer is waited for until the step's own limit: then it is TIMED_OUT. */
  readonly waitedOut?: true;
}

/** One row for each failure code. */
export interface FailureRow extends FailureAdvice {
  /** How the step can fail with it: one of these, by where in the step it comes from. */
  readonly classes: readonly FailureClass[];
  /** What the command line prints as fixes when a start is refused with this code; see ReasonRow. */
  readonly commands?: readonly string[];
}
