import type { OperatorAction } from '../../operation/operator-action.ts';

/** Who removes the cause of a failure. */
export const ADVISED = {
  operator: 'the operator of the machines: specs, labels, plans, images and operations are theirs',
  admin: 'the administrator of Ingot: configuration, credentials, the server and its log',
  site: 'hands at the machine, its BMC, its network or its power',
  upstream: 'the administrator of the MAAS or of the cluster',
} as const satisfies Record<string, string>;

export type Advised = keyof typeof ADVISED;

/** One row for each failure code. Both texts are half sentences, so that they can be joined. */
export interface FailureAdvice {
  readonly whatHappened: string;
  /** What to check and to fix before the action: without that, the same failure comes again. */
  readonly check: string;
  /** Leads on once the cause is removed. */
  readonly action: OperatorAction;
  readonly who: Advised;
  /** An upstream that does not answer is waited for until the step's own limit: then it is TIMED_OUT. */
  readonly waitedOut?: true;
}
