/** The one table from faults to the wire. Any other error becomes "internal error" with a request id. */
import { create } from '@bufbuild/protobuf';
import { anyPack, durationFromMs } from '@bufbuild/protobuf/wkt';
import { Fault } from '../domain/error/fault.ts';
import type { FaultKind } from '../domain/error/fault-kind.ts';
import {
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  RequestInfoSchema,
  RetryInfoSchema,
} from '../gen/google/rpc/error_details_pb.ts';
import { type Status, StatusSchema } from '../gen/google/rpc/status_pb.ts';
import { KeepalivesAway } from '../store/agents/keepalive-store.ts';
import { DatabaseAway } from '../store/database/database-away.ts';

const ERROR_DOMAIN = 'ingot';

/** The numbers are the same in gRPC and in Connect. */
export const WIRE = {
  invalid_argument: { grpc: 3, http: 400 },
  not_found: { grpc: 5, http: 404 },
  already_exists: { grpc: 6, http: 409 },
  permission_denied: { grpc: 7, http: 403 },
  resource_exhausted: { grpc: 8, http: 429 },
  failed_precondition: { grpc: 9, http: 400 },
  aborted: { grpc: 10, http: 409 },
  internal: { grpc: 13, http: 500 },
  unavailable: { grpc: 14, http: 503 },
  unauthenticated: { grpc: 16, http: 401 },
} as const satisfies Record<FaultKind, { grpc: number; http: number }>;

/** Turns any error into a Fault; an error that is not one is logged and not shown to the caller. */
export function faultOf(error: unknown, requestId: string, logUnexpected: (error: unknown) => void): Fault {
  if (error instanceof Fault) return error;
  if (error instanceof KeepalivesAway) {
    return new Fault('PRESENCE_UNAVAILABLE', {
      message: 'the store of keepalives does not answer; try again',
      metadata: { request_id: requestId },
      context: error,
    });
  }
  logUnexpected(error);
  if (error instanceof DatabaseAway) {
    return new Fault('DATABASE_UNAVAILABLE', {
      message: `${error.message}; try again`,
      metadata: { request_id: requestId, cause: error.kind },
      context: error,
    });
  }
  return new Fault('INTERNAL', {
    message: `internal error (request ${requestId})`,
    metadata: { request_id: requestId },
    context: error,
  });
}

export function statusOf(fault: Fault, requestId: string): Status {
  const details = [
    anyPack(
      ErrorInfoSchema,
      create(ErrorInfoSchema, {
        reason: fault.reason,
        domain: ERROR_DOMAIN,
        metadata: { ...fault.metadata },
      }),
    ),
    anyPack(RequestInfoSchema, create(RequestInfoSchema, { requestId })),
  ];
  if (fault.violations.length > 0 && fault.kind === 'invalid_argument') {
    const fieldViolations = fault.violations.map(({ subject, description }) => ({
      field: subject,
      description,
    }));
    details.push(anyPack(BadRequestSchema, create(BadRequestSchema, { fieldViolations })));
  }
  if (fault.violations.length > 0 && fault.kind === 'failed_precondition') {
    const violations = fault.violations.map((violation) => ({ type: fault.reason, ...violation }));
    details.push(anyPack(PreconditionFailureSchema, create(PreconditionFailureSchema, { violations })));
  }
  if (fault.retryAfterSeconds !== null) {
    const retryDelay = durationFromMs(Math.ceil(fault.retryAfterSeconds * 1000));
    details.push(anyPack(RetryInfoSchema, create(RetryInfoSchema, { retryDelay })));
  }
  return create(StatusSchema, { code: WIRE[fault.kind].grpc, message: fault.message, details });
}

/** The header that says when to try again; none without a hint. Whole seconds, at least one. */
export function retryHeaders({ retryAfterSeconds }: Fault): Readonly<Record<string, string>> {
  if (retryAfterSeconds === null) return {};
  return { 'retry-after': String(Math.max(1, Math.ceil(retryAfterSeconds))) };
}
