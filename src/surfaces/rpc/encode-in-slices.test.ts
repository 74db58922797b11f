import { create, fromBinary, toBinary, toJson } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { ListMachinesResponseSchema } from '../../gen/baremetal/v2/machine_service_pb.ts';
import { encodeInSlices, jsonInSlices } from './encode-in-slices.ts';

const answerOf = (count: number) => ({
  machines: Array.from({ length: count }, (_, n) => ({ machineId: `m-${n}`, labels: { rack: `r${n % 7}` } })),
  nextPageToken: 'next',
});

it.each([0, 1, 50, 51, 1_000])('encodes %d machines as one message does', async (count) => {
  const whole = create(ListMachinesResponseSchema, answerOf(count));
  const sliced = await encodeInSlices(ListMachinesResponseSchema, answerOf(count));
  expect(fromBinary(ListMachinesResponseSchema, sliced)).toEqual(
    fromBinary(ListMachinesResponseSchema, toBinary(ListMachinesResponseSchema, whole)),
  );
});

it.each([0, 1, 50, 51, 1_000])('encodes %d machines as JSON as one message does', async (count) => {
  const whole = create(ListMachinesResponseSchema, answerOf(count));
  const sliced = await jsonInSlices(ListMachinesResponseSchema, answerOf(count));
  expect(JSON.parse(sliced.toString())).toEqual(
    toJson(ListMachinesResponseSchema, whole, { alwaysEmitImplicit: true }),
  );
});

it('gives others their turn in between', async () => {
  let turns = 0;
  let isDone = false;
  const count = () => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await encodeInSlices(ListMachinesResponseSchema, answerOf(1_000));
  isDone = true;
  expect(turns).toBeGreaterThanOrEqual(10);
});
