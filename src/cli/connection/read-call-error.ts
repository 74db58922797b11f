/** Reads the error of a gRPC call with its details. */
import { fromBinary } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import type { ServiceError } from '@grpc/grpc-js';
import {
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  RequestInfoSchema,
} from '../../gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../gen/google/rpc/status_pb.ts';
import { CallError } from './call-error.ts';
import { nameOfStatus, status } from './status.ts';
import { tlsProblem } from './tls-problem.ts';

export function callErrorFrom(error: ServiceError): CallError {
  const detail = {
    code: error.code,
    message: error.details || error.message,
    reason: nameOfStatus(error.code),
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
