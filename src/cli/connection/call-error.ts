import { fromBinary } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { type ServiceError, status } from '@grpc/grpc-js';
import {
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  RequestInfoSchema,
} from '../../gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../gen/google/rpc/status_pb.ts';
import { tlsProblem } from './tls-problem.ts';

export interface CallErrorDetail {
  readonly code: status;
  readonly message: string;
  /** UPPER_SNAKE_CASE; the name of the code where the server gave none. */
  readonly reason: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly violations: readonly { readonly subject: string; readonly description: string }[];
}

/** A call that failed. */
export class CallError extends Error {
  readonly code: status;
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

export function callErrorFrom(error: ServiceError): CallError {
  const detail = {
    code: error.code,
    message: error.details || error.message,
    reason: status[error.code] ?? 'UNKNOWN',
    metadata: {} as Record<string, string>,
    violations: [] as { subject: string; description: string }[],
  };
  const problem = error.code === status.UNAVAILABLE ? tlsProblem(detail.message) : null;
  if (problem !== null) return new CallError({ ...detail, reason: 'TLS_FAILED', message: problem });
  const [encoded] = error.metadata?.get('grpc-status-details-bin') ?? [];
  if (!(encoded instanceof Buffer)) return new CallError(detail);
  try {
    readStatus(encoded, detail);
  } catch {
    // The error is reported without its details if they can't be decoded.
  }
  return new CallError(detail);
}

function readStatus(
  encoded: Buffer,
  detail: {
    reason: string;
    metadata: Record<string, string>;
    violations: { subject: string; description: string }[];
  },
): void {
  for (const any of fromBinary(StatusSchema, encoded).details) {
    const info = anyUnpack(any, ErrorInfoSchema);
    if (info !== undefined) {
      detail.reason = info.reason || detail.reason;
      Object.assign(detail.metadata, info.metadata);
    }
    for (const { field, description } of anyUnpack(any, BadRequestSchema)?.fieldViolations ?? []) {
      detail.violations.push({ subject: field, description });
    }
    for (const { subject, description } of anyUnpack(any, PreconditionFailureSchema)?.violations ?? []) {
      detail.violations.push({ subject, description });
    }
    const request = anyUnpack(any, RequestInfoSchema);
    if (request !== undefined) detail.metadata.request_id ??= request.requestId;
  }
}

/** No response, but the same call may succeed later: the server is down, or closed the connection. */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof CallError) || error.reason === 'TLS_FAILED') return false;
  if (error.code === status.UNAVAILABLE || error.reason === 'WATCH_TOO_SLOW') return true;
  // The errors of open streams when a server is killed or shuts down.
  const isReset =
    error.reason === status[error.code] && /RST_STREAM|cancelled|Connection dropped/i.test(error.message);
  return isReset && (error.code === status.INTERNAL || error.code === status.CANCELLED);
}
