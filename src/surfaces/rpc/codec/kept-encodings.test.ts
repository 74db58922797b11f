import { expect, it } from 'vitest';
import { MachineSchema } from '../../../gen/baremetal/v2/machine_pb.ts';
import { encodeBinary } from './binary-encoder.ts';
import { encodeJson } from './json-encoder.ts';
import { keepEncodings } from './kept-encodings.ts';

const message = () => ({ machineId: 'm-1', labels: { rack: 'r1' }, status: { service: 'active' } });

it('a message whose encodings are kept has those of one whose encodings are not', () => {
  const kept = keepEncodings(message());
  for (let time = 0; time < 3; time += 1) {
    expect(encodeJson(MachineSchema, kept)).toBe(encodeJson(MachineSchema, message()));
    expect(encodeBinary(MachineSchema, kept)).toEqual(encodeBinary(MachineSchema, message()));
  }
});

it('each answer has bytes of its own, so that its caller can fill the first of them', () => {
  const kept = keepEncodings(message());
  const first = encodeBinary(MachineSchema, kept, 5);
  first.fill(0xff);
  const second = encodeBinary(MachineSchema, kept, 5).subarray(5);
  expect(second).toEqual(encodeBinary(MachineSchema, message()));
});
