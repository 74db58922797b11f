import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { Fault } from '../domain/error/fault.ts';
import { FAULT_KINDS, type FaultKind } from '../domain/error/fault-kind.ts';
import {
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  RequestInfoSchema,
} from '../gen/google/rpc/error_details_pb.ts';
import type { Status } from '../gen/google/rpc/status_pb.ts';
import { AWAY_KINDS, type AwayKindName, DatabaseAway } from '../store/database/database-away.ts';
import { faultOf, statusOf, WIRE } from './fault-wire.ts';

const VIOLATIONS = [{ subject: 'spec.provider', description: 'is odd' }];
const KINDS = Object.keys(FAULT_KINDS) as FaultKind[];
const faultWith = (kind: FaultKind) => {
  const detail = {
    message: 'what people read',
    metadata: { field: 'spec.provider' },
    violations: VIOLATIONS,
    context: 'for the log only',
  };
  return new Fault('WRONG_PHASE', detail, kind);
};

function detail<Schema extends DescMessage>(wire: Status, schema: Schema): MessageShape<Schema> | undefined {
  return wire.details.map((any) => anyUnpack(any, schema)).find((message) => message !== undefined);
}

describe('the table from faults to the wire', () => {
  it.each(KINDS)('has gRPC’s own number for %s', (kind) => {
    expect(WIRE[kind].grpc).toBe(status[kind.toUpperCase() as keyof typeof status]);
  });

  // The HTTP statuses are those that Connect gives the same codes.
  it.each([
    ['invalid_argument', 400],
    ['unauthenticated', 401],
    ['permission_denied', 403],
    ['not_found', 404],
    ['already_exists', 409],
    ['failed_precondition', 400],
    ['aborted', 409],
    ['resource_exhausted', 429],
    ['unavailable', 503],
    ['internal', 500],
  ] as const)('answers %s with HTTP %i', (kind, http) => expect(WIRE[kind].http).toBe(http));

  it('has every kind and no other', () => {
    expect(Object.keys(WIRE).toSorted()).toEqual(KINDS.toSorted());
  });
});

describe('a fault on the wire', () => {
  it.each(KINDS)('%s says its reason and the request, and nothing of its context', (kind) => {
    const wire = statusOf(faultWith(kind), 'req-7');
    expect(wire).toMatchObject({ code: WIRE[kind].grpc, message: 'what people read' });
    expect(detail(wire, ErrorInfoSchema)).toMatchObject({
      reason: 'WRONG_PHASE',
      domain: 'ingot',
      metadata: { field: 'spec.provider' },
    });
    expect(detail(wire, RequestInfoSchema)).toMatchObject({ requestId: 'req-7' });
    const bytes = Buffer.concat(wire.details.map(({ value }) => value)).toString();
    expect(bytes).not.toContain('for the log only');
  });

  it.each(KINDS)('%s lists its violations in the form of its kind', (kind) => {
    const wire = statusOf(faultWith(kind), 'req-7');
    const fields = detail(wire, BadRequestSchema)?.fieldViolations;
    const preconditions = detail(wire, PreconditionFailureSchema)?.violations;
    if (kind === 'invalid_argument')
      expect(fields).toMatchObject([{ field: 'spec.provider', description: 'is odd' }]);
    else expect(fields).toBeUndefined();
    if (kind === 'failed_precondition') {
      expect(preconditions).toMatchObject([
        { type: 'WRONG_PHASE', subject: 'spec.provider', description: 'is odd' },
      ]);
    } else expect(preconditions).toBeUndefined();
  });

  it('has no list of violations when there are none', () => {
    const wire = statusOf(new Fault('INVALID_FIELD', { message: 'm' }), 'req-7');
    expect(wire.details).toHaveLength(2);
  });
});

describe('whatever was thrown', () => {
  it.each(Object.keys(AWAY_KINDS) as AwayKindName[])(
    'is unavailable when the database is away: %s',
    (kind) => {
      const unexpected: unknown[] = [];
      const error = new DatabaseAway(kind, new Error('to 10.0.0.7 with password=hunter2'));
      const fault = faultOf(error, 'request-1', (cause) => unexpected.push(cause));
      expect(fault).toMatchObject({
        kind: 'unavailable',
        reason: 'DATABASE_UNAVAILABLE',
        message: `${AWAY_KINDS[kind].cause}; try again`,
        metadata: { cause: kind },
      });
      expect(unexpected).toEqual([error]);
    },
  );

  it('is internal when the database refused the statement', () => {
    const error = Object.assign(new pg.DatabaseError('no', 0, 'error'), { code: '23505' });
    expect(faultOf(error, 'request-1', () => {})).toMatchObject({ kind: 'internal' });
  });

  it('is itself when it is a fault', () => {
    const logged: unknown[] = [];
    const fault = faultWith('aborted');
    expect(faultOf(fault, 'req-7', (error) => logged.push(error))).toBe(fault);
    expect(logged).toEqual([]);
  });

  it.each([new Error('password=hunter2'), new TypeError('x is not a function'), 'a string', undefined, null])(
    'is an internal error with the request’s id otherwise (%s)',
    (thrown) => {
      const logged: unknown[] = [];
      const fault = faultOf(thrown, 'req-7', (error) => logged.push(error));
      expect(fault).toMatchObject({
        kind: 'internal',
        reason: 'INTERNAL',
        message: 'internal error (request req-7)',
        metadata: { request_id: 'req-7' },
        violations: [],
      });
      expect(logged).toEqual([thrown]);
      expect(JSON.stringify(statusOf(fault, 'req-7').details)).not.toContain('hunter2');
    },
  );
});
