import { nameOfStatus, type StatusCode, status } from './status.ts';

export interface CallErrorDetail {
  readonly code: StatusCode;
  readonly message: string;
  /** UPPER_SNAKE_CASE; the name of the code where the server gave none. */
  readonly reason: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly violations: readonly { readonly subject: string; readonly description: string }[];
}

/** A call that failed. */
export class CallError extends Error {
  readonly code: StatusCode;
  readonly reason: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly violations: CallErrorDetail['violations'];

  constructor(detail: CallErrorDetail) {
    super(detail.message);
    this.name = 'CallError';
    this.code = detail.code;
    this.reason = detail.reason;
    this.metadata = detail.metadata;
    this.violations = detail.violations;
  }
}

/** No response, but the same call may succeed later: the server is down, or closed the connection. */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof CallError) || error.reason === 'TLS_FAILED') return false;
  if (error.code === status.UNAVAILABLE || error.reason === 'WATCH_TOO_SLOW') return true;
  // The errors of open streams when a server is killed or shuts down.
  const isReset =
    error.reason === nameOfStatus(error.code) &&
    /RST_STREAM|cancelled|Connection dropped/i.test(error.message);
  return isReset && (error.code === status.INTERNAL || error.code === status.CANCELLED);
}
