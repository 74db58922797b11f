import { create } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { EventSchema } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { deeds, sentence } from './sentence.ts';

const event = (fields: Record<string, unknown>) => create(EventSchema, fields);

it.each([
  [
    { kind: 'operation', subject: 'ENTER_MAINTENANCE', to: 'pending', machineId: 'web-1' },
    'started enter maintenance of web-1',
  ],
  [
    { kind: 'operation', subject: 'REIMAGE', from: 'running', to: 'cancelled', machineId: 'web-1' },
    'made reimage of web-1 cancelled',
  ],
  [{ kind: 'condition', subject: 'RMA', to: 'true', machineId: 'web-1' }, 'flagged RMA on web-1'],
  [
    { kind: 'condition', subject: 'RMA', from: 'true', to: 'false', machineId: 'web-1' },
    'cleared RMA of web-1',
  ],
  [{ kind: 'token', subject: 'anna', to: 'viewer' }, 'created token anna with role viewer'],
  [{ kind: 'token', subject: 'anna', from: 'viewer', to: 'revoked' }, 'revoked token anna'],
  [{ kind: 'token', subject: 'web-1', to: 'issued', machineId: 'web-1' }, 'issued the token of web-1'],
  [{ kind: 'rollout', subject: 'ro-1', to: 'running' }, 'started rollout ro-1'],
  [{ kind: 'session', subject: 'session-1', to: 'created' }, 'signed in'],
  [{ kind: 'of a newer server', subject: 'x', to: 'done' }, 'of a newer server x: done'],
])('%o reads "%s"', (fields, text) => {
  expect(sentence(event(fields))).toBe(text);
});

it('the events of one call are one deed, and what it is about leads', () => {
  const made = deeds([
    event({ eventId: 3n, kind: 'session', requestId: 'c' }),
    event({ eventId: 2n, kind: 'presence', requestId: 'b', machineId: 'm' }),
    event({ eventId: 1n, kind: 'token', requestId: 'b', subject: 'm' }),
    event({ eventId: 0n, kind: 'phase', requestId: '' }),
  ]);
  expect(made.map(({ lead, others }) => [lead.kind, others.length])).toEqual([
    ['session', 0],
    ['token', 1],
    ['phase', 0],
  ]);
});
