/**
 * Everything that can go wrong on purpose. A Fault has four audiences, kept apart: programs branch on
 * `reason`, people read `message`, both may read `metadata` and `violations`; `context` is for the log alone
 * and never leaves the process. How a kind looks on a wire is not decided here but in surfaces/.
 */
export const FAULT_KINDS = [
  'invalid_argument',
  'unauthenticated',
  'permission_denied',
  'not_found',
  'already_exists',
  'failed_precondition',
  'aborted',
  'resource_exhausted',
  'unavailable',
  'internal',
] as const;

export type FaultKind = (typeof FAULT_KINDS)[number];

/** For invalid_argument the subject is the field's path; for failed_precondition it is what blocks. */
export interface Violation {
  readonly subject: string;
  readonly description: string;
}

export interface FaultDetail {
  /** UPPER_SNAKE_CASE, stable across releases. */
  readonly reason: string;
  readonly message: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly violations?: readonly Violation[];
  /** For the log only. */
  readonly context?: unknown;
}

export class Fault extends Error {
  readonly kind: FaultKind;
  readonly reason: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly violations: readonly Violation[];
  readonly context: unknown;

  constructor(kind: FaultKind, detail: FaultDetail) {
    super(detail.message);
    this.name = 'Fault';
    this.kind = kind;
    this.reason = detail.reason;
    this.metadata = detail.metadata ?? {};
    this.violations = detail.violations ?? [];
    this.context = detail.context;
  }
}

export function invalidField(field: string, description: string): Fault {
  return new Fault('invalid_argument', {
    reason: 'INVALID_FIELD',
    message: `${field}: ${description}`,
    metadata: { field },
    violations: [{ subject: field, description }],
  });
}

/** Ends a stream that has more to tell, so that its reader comes back with the last cursor. */
export function serverStopping(): Fault {
  return new Fault('unavailable', {
    reason: 'SERVER_STOPPING',
    message: 'the server is stopping; resume from the last cursor',
  });
}

export function missingField(field: string): Fault {
  return new Fault('invalid_argument', {
    reason: 'MISSING_FIELD',
    message: `${field} is required`,
    metadata: { field },
    violations: [{ subject: field, description: 'is required' }],
  });
}
