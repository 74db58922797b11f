import { create, fromBinary, fromJson, type JsonValue, toBinary, toJson } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import {
  PreviewRolloutRequestSchema,
  RolloutService,
  SkipMachinesRequestSchema,
} from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { MachineService, RegisterMachineRequestSchema } from '../../gen/baremetal/v2/machine_service_pb.ts';
import { isDecodedInTurns } from '../limits/message-limits.ts';
import { binaryInSlices, jsonMessageInSlices } from './decode-in-slices.ts';

const { previewRollout, skipMachines } = RolloutService.method;
const machineIds = Array.from({ length: 23_456 }, (_, n) => `machine-of-a-fleet-${n}`);
const preview = create(PreviewRolloutRequestSchema, {
  spec: {
    name: 'all of them',
    machineIds,
    waves: ['1', 'rest'],
    steps: [{ step: { case: 'reboot', value: {} } }, { step: { case: 'reboot', value: {} } }],
    reason: 'after the list',
  },
});
const binary = toBinary(PreviewRolloutRequestSchema, preview);
const json = toJson(PreviewRolloutRequestSchema, preview) as { spec: Record<string, JsonValue> };
const textOf = (value: unknown) => Buffer.from(JSON.stringify(value));
const refused = { reason: 'MALFORMED_MESSAGE', message: expect.stringContaining('PreviewRolloutRequest') };

describe('a message that is decoded in slices is what it would be as a whole', () => {
  it('in binary, with the list in a message within it, and in itself', async () => {
    expect(await binaryInSlices(previewRollout, binary)).toEqual(preview);
    const skip = create(SkipMachinesRequestSchema, { rolloutId: 'r', machineIds, reason: 'broken' });
    expect(await binaryInSlices(skipMachines, toBinary(SkipMachinesRequestSchema, skip))).toEqual(skip);
    expect(await jsonMessageInSlices(skipMachines, textOf(toJson(SkipMachinesRequestSchema, skip)))).toEqual(
      skip,
    );
  });

  it('in JSON, by either name of a field', async () => {
    expect(await jsonMessageInSlices(previewRollout, textOf(json))).toEqual(preview);
    const { machineIds: ids, ...others } = json.spec;
    const renamed = { spec: { ...others, machine_ids: ids ?? null } };
    expect(await jsonMessageInSlices(previewRollout, textOf(renamed))).toEqual(preview);
  });

  it('where a message within it comes twice, and where there is nothing', async () => {
    const both = Buffer.concat([binary, binary]);
    expect(await binaryInSlices(previewRollout, both)).toEqual(fromBinary(PreviewRolloutRequestSchema, both));
    const none = fromBinary(PreviewRolloutRequestSchema, new Uint8Array());
    expect(await binaryInSlices(previewRollout, new Uint8Array())).toEqual(none);
    expect(await jsonMessageInSlices(previewRollout, textOf({}))).toEqual(
      fromJson(PreviewRolloutRequestSchema, {}),
    );
  });
});

describe('a long message of any other call, too', () => {
  const labels = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`key-${n}`, 'v'.repeat(2_000)]));
  const register = create(RegisterMachineRequestSchema, {
    machine: { machineId: 'm-1', labels, spec: { sshEndpoint: '10.0.0.1:22', location: { rack: 'r1' } } },
  });
  const { registerMachine } = MachineService.method;

  it('in both formats, with its map and its messages', async () => {
    const bytes = toBinary(RegisterMachineRequestSchema, register);
    expect(isDecodedInTurns(registerMachine, bytes.length)).toBe(true);
    expect(isDecodedInTurns(registerMachine, 1_000)).toBe(false);
    expect(await binaryInSlices(registerMachine, bytes)).toEqual(register);
    const text = textOf(toJson(RegisterMachineRequestSchema, register));
    expect(await jsonMessageInSlices(registerMachine, text)).toEqual(register);
  });

  it('in JSON, without taking a number for a text', async () => {
    const text = textOf({ machine: { machineId: 7 } });
    await expect(jsonMessageInSlices(registerMachine, text)).rejects.toMatchObject({
      reason: 'MALFORMED_MESSAGE',
    });
  });
});

describe('a malformed message is refused', () => {
  it.each([
    ['cut off', binary.subarray(0, -3)],
    ['cut off in its first field', binary.subarray(0, 2)],
    ['with bytes after its last field', Buffer.concat([binary, Buffer.from([0xff, 0xff])])],
  ])('in binary: %s', async (_what, bytes) => {
    await expect(binaryInSlices(previewRollout, bytes)).rejects.toMatchObject(refused);
  });

  it('in binary: with a group, which would have to be decoded in one piece', async () => {
    const group = Buffer.concat([
      Buffer.from([((100 << 3) & 0x7f) | 0x83, 6, ((100 << 3) & 0x7f) | 0x84, 6]),
      binary,
    ]);
    await expect(binaryInSlices(previewRollout, group)).rejects.toMatchObject({
      reason: 'MALFORMED_MESSAGE',
    });
  });

  it.each([
    ['no JSON', Buffer.from('{"spec":{"machineIds":["a",]}}')],
    ['a list', textOf([json])],
    ['an id that is no text, far behind', textOf({ spec: { machineIds: [...machineIds, {}] } })],
    ['a field that is unknown', textOf({ ...json, unknown: 1 })],
    ['a field by both its names', textOf({ spec: { machineIds, machine_ids: machineIds } })],
    ['a prototype', Buffer.from('{"__proto__":{"spec":{}}}')],
  ])('in JSON: %s', async (_what, text) => {
    await expect(jsonMessageInSlices(previewRollout, text)).rejects.toMatchObject(refused);
  });
});
