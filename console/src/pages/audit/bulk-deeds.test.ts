import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { expect, it } from 'vitest';
import { EventSchema } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { bulkSentence, bulks } from './bulk-deeds.ts';
import { deeds } from './sentence.ts';

let next = 1_000n;
const did = (seconds: number, fields: Record<string, unknown>) => {
  next -= 1n;
  const at = timestampFromMs(seconds * 1_000);
  return create(EventSchema, { eventId: next, requestId: `r-${next}`, at, actorId: 'maria', ...fields });
};
const reimage = (seconds: number, machineId: string, actorId = 'maria') =>
  did(seconds, { kind: 'operation', subject: 'REIMAGE', to: 'pending', machineId, actorId });
const read = (...events: ReturnType<typeof did>[]) =>
  bulks(deeds(events)).map((bulk) => {
    const { lead } = bulk[0] ?? {};
    return lead ? `${lead.actorId} ${bulkSentence(bulk, lead)}` : '';
  });

it('the same work on many machines is one line, whatever others did meanwhile', () => {
  expect(
    read(
      reimage(40, 'm-3'),
      reimage(30, 'm-9', 'jon'),
      reimage(20, 'm-2'),
      did(15, { kind: 'pool', subject: 'gpu', to: 'created' }),
      reimage(10, 'm-1'),
    ),
  ).toEqual([
    'maria started reimage of 3 machines',
    'jon started reimage of 1 machine',
    'maria created pool gpu',
  ]);
});

it('two machines, or work hours apart, are lines of their own', () => {
  expect(read(reimage(9_000, 'm-3'), reimage(20, 'm-2'), reimage(10, 'm-1'))).toHaveLength(3);
});
