/** What came of one fault, for the table that `npm run faults` prints. */
export interface FaultResult {
  readonly fault: string;
  /** Operations that the API accepted. */
  readonly accepted: number;
  readonly lost: number;
  readonly doubled: number;
  readonly needingHuman: number;
  readonly recoverySeconds: number;
  /** Promises that did not hold, in words; empty is good. */
  readonly problems: readonly string[];
}
