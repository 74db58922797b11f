/** A rollout of three waves in the middle of its second, for tests of what the command line shows. */
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type Rollout,
  Rollout_State,
  RolloutSchema,
  Wave_State,
} from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';

export const CREATED = Date.parse('2026-01-30T10:00:00Z');
const at = (seconds: number) => timestampFromMs(CREATED + seconds * 1000);

export function sampleRollout(change: Partial<Rollout> = {}): Rollout {
  const sample = create(RolloutSchema, {
    rolloutId: 'ro-7',
    spec: {
      name: 'ubuntu-24.04',
      filter: 'labels.role=web',
      reason: 'new image',
      steps: [
        { step: { case: 'enterMaintenance', value: { duration: '2h' } } },
        { step: { case: 'reimage', value: { imageRef: 'ubuntu-2404' } } },
        { step: { case: 'exitMaintenance', value: {} } },
      ],
    },
    state: Rollout_State.RUNNING,
    waitingFor: 'rack r12 has 1 of 1 machines unavailable: m-9 is in maintenance',
    waves: [
      {
        number: 1,
        name: '1',
        state: Wave_State.DONE,
        gate: 'automatic',
        machines: { total: 1, succeeded: 1 },
        startedAt: at(0),
        finishedAt: at(60),
      },
      {
        number: 2,
        name: '10%',
        state: Wave_State.RUNNING,
        gate: 'approval',
        approvedBy: 'operator:ann',
        machines: { total: 18, succeeded: 6, failed: 2, running: 3, pending: 7 },
        startedAt: at(90),
      },
      {
        number: 3,
        name: 'rest',
        state: Wave_State.WAITING,
        gate: 'second-person',
        approvalRule: 'prod',
        machines: { total: 162, pending: 162 },
      },
    ],
    machines: { total: 181, succeeded: 7, failed: 2, running: 3, pending: 169 },
    failures: [
      {
        errorCode: 'NETBOOT_TIMEOUT',
        machines: 2,
        exampleMachineId: 'm-3',
        exampleMessage: 'no boot in 10m',
      },
    ],
    limits: [
      { name: 'max_parallel', kind: 'max_parallel', used: 3, limit: 20 },
      { name: 'location.rack', kind: 'limit', group: 'r12', used: 1, limit: 1 },
    ],
    createdBy: 'operator:bob',
    createdAt: at(0),
    startedAt: at(0),
    actions: [
      { at: at(0), action: 'create', by: 'operator:bob', reason: 'new image' },
      { at: at(80), action: 'approve', by: 'operator:ann', detail: 'wave 2' },
    ],
  });
  return Object.assign(sample, change);
}
