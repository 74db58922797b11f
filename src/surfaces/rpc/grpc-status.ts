import { toBinary } from '@bufbuild/protobuf';
import * as grpc from '@grpc/grpc-js';
import { StatusSchema } from '../../gen/google/rpc/status_pb.ts';
import { statusOf, WIRE } from '../fault-wire.ts';
import type { CallFailed } from './service.ts';

/** The end of a call as gRPC sends it. */
export interface GrpcStatus {
  readonly code: number;
  readonly details: string;
  readonly metadata: grpc.Metadata | null;
}

export function statusFor({
  fault,
  requestId,
}: CallFailed): GrpcStatus & { readonly metadata: grpc.Metadata } {
  const metadata = new grpc.Metadata();
  metadata.set('grpc-status-details-bin', Buffer.from(toBinary(StatusSchema, statusOf(fault, requestId))));
  // What clients of gRPC obey by themselves, as RetryInfo is for their callers.
  if (fault.retryAfterSeconds !== null)
    metadata.set('grpc-retry-pushback-ms', String(Math.ceil(fault.retryAfterSeconds * 1000)));
  return { code: WIRE[fault.kind].grpc, details: fault.message, metadata };
}
