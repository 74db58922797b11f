/**
 * A refusal that the code foresees. A Fault has four audiences, kept apart: programs branch on `reason`, people read
 * `message`, both may read `metadata` and `violations`; `context` is for the log alone and never leaves the process. How a
 * kind looks on a wire is not decided here but in surfaces/.
 */
import type { FaultKind } from './fault-kind.ts';
import { type PreconditionReason, REASONS, type Reason } from './reason.ts';

/** For invalid_argument the subject is the field's path; for failed_precondition it is what blocks. */
export interface Violation {
  readonly subject: string;
  readonly description: string;
}

export interface FaultDetail {
  readonly message: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly violations?: readonly Violation[];
  /** When the same request may succeed: the retry hint of a limit. */
  readonly retryAfterSeconds?: number;
  /** For the log only. */
  readonly context?: unknown;
}

export class Fault extends Error {
  readonly kind: FaultKind;
  /** UPPER_SNAKE_CASE, stable across releases. */
  readonly reason: Reason | PreconditionReason;
  readonly metadata: Readonly<Record<string, string>>;
  readonly violations: readonly Violation[];
  /** Null: no hint. */
  readonly retryAfterSeconds: number | null;
  readonly context: unknown;

  constructor(reason: Reason, detail: FaultDetail);
  /** Only where the row does not decide: see unmetPrecondition. */
  constructor(reason: Reason | PreconditionReason, detail: FaultDetail, kind: FaultKind);
  constructor(reason: Reason, detail: FaultDetail, kind: FaultKind = REASONS[reason].kind) {
    super(wellFormed(detail.message));
    this.name = 'Fault';
    this.kind = kind;
    this.reason = reason;
    this.metadata = detail.metadata ?? {};
    this.violations = detail.violations ?? [];
    this.retryAfterSeconds = detail.retryAfterSeconds ?? null;
    this.context = detail.context;
  }
}

/** A text that was cut may end in half of a character, which no wire can carry. */
function wellFormed(text: string): string {
  return text.replace(/\p{Cs}/gu, '\ufffd');
}

/** Something that the request depends on is missing or wrong, and the request itself is right. */
export function unmetPrecondition(reason: PreconditionReason, detail: FaultDetail): Fault {
  return new Fault(reason, detail, 'failed_precondition');
}

export function invalidField(field: string, description: string): Fault {
  return new Fault('INVALID_FIELD', {
    message: `${field}: ${description}`,
    metadata: { field },
    violations: [{ subject: field, description }],
  });
}

export function missingField(field: string): Fault {
  return new Fault('MISSING_FIELD', {
    message: `${field} is required`,
    metadata: { field },
    violations: [{ subject: field, description: 'is required' }],
  });
}

/** Ends a stream that has more to send, so that its client resumes it with the last cursor. */
export function serverStopping(): Fault {
  return new Fault('SERVER_STOPPING', { message: 'the server is stopping; resume from the last cursor' });
}
