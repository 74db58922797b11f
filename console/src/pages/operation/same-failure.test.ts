import { create } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import {
  Operation_Phase,
  OperationSchema,
  OperationType,
} from '../../../../src/gen/baremetal/v2/operation_pb.ts';
import { operationView } from '../../operation-view.ts';
import { failureGroups } from './same-failure.ts';

const failed = (machineId: string, message: string, { step = 'repave', image = 'ubuntu-24.04' } = {}) =>
  operationView(
    create(OperationSchema, {
      operationId: `op-${machineId}`,
      machineId,
      type: OperationType.REIMAGE,
      phase: Operation_Phase.FAILED,
      params: { image_ref: image },
      error: { code: 'EXECUTION_FAILED', message, details: { step } },
    }),
  );
const groups = (...views: ReturnType<typeof failed>[]) =>
  failureGroups(views).map(({ machineIds }) => machineIds);

it('failures are the same but for what names a machine', () => {
  expect(
    groups(
      failed('web-1', 'web-1: the BMC at 10.0.0.1:443 does not answer'),
      failed('db-a', 'db-a: the BMC at 10.0.0.27:443 does not answer'),
    ),
  ).toEqual([['web-1', 'db-a']]);
});

it.each([
  ['message', failed('m-2', 'the disk is full')],
  ['step', failed('m-2', 'no answer', { step: 'reboot' })],
  ['image', failed('m-2', 'no answer', { image: 'debian-13' })],
])('one with another %s is another failure', (_what, other) => {
  expect(groups(failed('m-1', 'no answer'), other)).toEqual([['m-1'], ['m-2']]);
});

it('a machine counts once, with its last failure', () => {
  expect(
    groups(failed('m-1', 'no answer'), failed('m-2', 'the disk is full'), failed('m-2', 'no answer')),
  ).toEqual([['m-1'], ['m-2']]);
});
