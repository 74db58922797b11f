import type { FaultKind } from '../fault-kind.ts';

/** One row for each reason. */
export interface ReasonRow {
  readonly kind: FaultKind;
  /** The same reason also says that something which a request depends on is missing: then it is failed_precondition. */
  readonly alsoPrecondition?: true;
  /** The general form of what the caller reads; <names> stand for values. */
  readonly message: string;
  readonly cause: string;
  /** What the caller does about it. */
  readonly fix: string;
  /**
   * What the command line prints as fixes. A {name} is a value of the fault's metadata, or one of FIX_NAMES (fix-commands.ts); a line whose
   * values are not all known is left out.
   */
  readonly commands?: readonly string[];
}
