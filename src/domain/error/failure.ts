import type { FAILURES, FailureCode } from './failure-code.ts';

/** The classes that the row of a code has. */
export type ClassOf<C extends FailureCode> = (typeof FAILURES)[C]['classes'][number];

/** What failed, without its message. A class that the row of the code does not have does not compile. */
export type FailureCause = {
  readonly [C in FailureCode]: { readonly class: ClassOf<C>; readonly code: C };
}[FailureCode];

/** How a step failed. The class decides what the engine does about it, not the message. */
export type Failure = FailureCause & { readonly message: string };

/** For callers that pass class and code on. */
export function failureOf<C extends FailureCode>(
  failureClass: ClassOf<C>,
  code: C,
  message: string,
): Failure {
  return { class: failureClass, code, message } as Failure;
}
