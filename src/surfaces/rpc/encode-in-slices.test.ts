import { create, fromBinary, toBinary, toJson } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { RolloutSchema } from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
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
  expect(JSON.parse(sliced)).toEqual(toJson(ListMachinesResponseSchema, whole, { alwaysEmitImplicit: true }));
});

const rolloutOf = (machines: number, waves: number) => ({
  rolloutId: 'ro-1',
  spec: { name: 'all', machineIds: Array.from({ length: machines }, (_, n) => `m-${n}`), reason: 'why' },
  waves: Array.from({ length: waves }, (_, n) => ({ number: n + 1, name: `w"${n}` })),
});

it.each([
  [5_000, 1],
  [5_001, 1],
  [12_000, 70],
])('encodes the %d ids of a rollout with %d waves as one message does', async (machines, waves) => {
  const answer = rolloutOf(machines, waves);
  const whole = create(RolloutSchema, answer);
  expect(fromBinary(RolloutSchema, await encodeInSlices(RolloutSchema, answer))).toEqual(
    fromBinary(RolloutSchema, toBinary(RolloutSchema, whole)),
  );
  expect(JSON.parse(await jsonInSlices(RolloutSchema, answer))).toEqual(
    toJson(RolloutSchema, whole, { alwaysEmitImplicit: true }),
  );
});

it('gives others their turn between slices of ids', async () => {
  expect(await turnsDuring(() => encodeInSlices(RolloutSchema, rolloutOf(50_001, 1)))).toBeGreaterThanOrEqual(
    10,
  );
});

it('gives others their turn in between', async () => {
  const turns = await turnsDuring(() => encodeInSlices(ListMachinesResponseSchema, answerOf(1_000)));
  expect(turns).toBeGreaterThanOrEqual(10);
});

async function turnsDuring(work: () => unknown): Promise<number> {
  let turns = 0;
  let isDone = false;
  const count = () => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isDone = true;
  return turns;
}
