/** What agents are answered that is not what they asked for, whichever way the answer takes to them. */
import { Fault } from '../../domain/error/fault.ts';
import { DatabaseAway } from '../../store/database/database-away.ts';
import { faultOf, WIRE } from '../fault-wire.ts';
import { AGENT_ERRORS } from './agent-errors.ts';

export interface AgentRefusal {
  readonly status: number;
  readonly message: string;
  readonly errorCode: string | null;
  readonly detail?: string;
  /** The token is revoked for good: repeating the call does not help. */
  readonly revoked?: true;
}

const RETRY_AFTER_SECONDS = '5';

export const REVOKED_TOKEN = {
  ...AGENT_ERRORS.INVALID_TOKEN,
  revoked: true,
  detail: 'the token was revoked for good: its machine was decommissioned or removed',
} as const;

export function invalidPayload(
  detail: string,
  status: number = AGENT_ERRORS.INVALID_PAYLOAD.status,
): AgentRefusal {
  return { ...AGENT_ERRORS.INVALID_PAYLOAD, status, detail };
}

export function isInvalid(error: unknown): error is Fault {
  return error instanceof Fault && WIRE[error.kind].http === 400;
}

export interface FailedCall {
  readonly requestId: string;
  readonly path: string;
  readonly logUnexpected: (error: unknown, requestId: string, path: string) => void;
}

/** An error that the code does not foresee is answered without its text, which may name internals. */
export function unexpected(
  { requestId, path, logUnexpected }: FailedCall,
  error: unknown,
  refusal: AgentRefusal,
): AgentRefusal {
  if (error instanceof Fault && error.kind === 'unavailable') {
    return { ...AGENT_ERRORS.TRY_AGAIN, message: error.message };
  }
  const fault = faultOf(error, requestId, (cause) => logUnexpected(cause, requestId, path));
  // Agents expect 500 when the store of keepalives is away; that the database is away is 503 as in all other calls.
  const status = error instanceof DatabaseAway ? WIRE[fault.kind].http : refusal.status;
  return { ...refusal, status, detail: fault.message };
}

export function refusalBody({ message, errorCode, detail, revoked }: AgentRefusal) {
  return {
    ...(errorCode === null ? {} : { error_code: errorCode }),
    message,
    ...(detail === undefined ? {} : { detail }),
    ...(revoked === undefined ? {} : { revoked }),
  };
}

/** As it is recorded; null: its status says it. */
export function reasonOf({ errorCode }: AgentRefusal): string | null {
  return errorCode === null ? null : errorCode.toUpperCase();
}

/** For what was tried and could not be stored now; null: at the agent's own pace. */
export function retryAfterOf({ status }: AgentRefusal): string | null {
  return status === 503 ? RETRY_AFTER_SECONDS : null;
}
