import { create } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { EffectiveState_Value, MachineSchema } from '../../src/gen/baremetal/v2/machine_pb.ts';
import { headlineOf } from './headline-of.ts';

const { IDLE, ATTENTION, MAINTENANCE } = EffectiveState_Value;
const reimageFailed = { type: 'NeedsIntervention', status: true, reason: 'ReimageFailed' };

it.each([
  ['well', { effectiveState: IDLE, presence: 'ready' }, ['IDLE', '', 'green']],
  [
    'idle, with a lost agent',
    { effectiveState: IDLE, presence: 'expired' },
    ['IDLE', 'agent lost', 'orange'],
  ],
  ['quarantined', { effectiveState: IDLE, service: 'quarantined' }, ['IDLE', 'quarantined', 'orange']],
  [
    'failed',
    { effectiveState: ATTENTION, conditions: [reimageFailed] },
    ['ATTENTION', 'reimage failed', 'red'],
  ],
  [
    'overdue',
    { effectiveState: MAINTENANCE, maintenance: { overdue: true } },
    ['MAINTENANCE', 'overdue', 'yellow'],
  ],
])('a machine that is %s', (_what, status, headline) => {
  const { state, note, colour } = headlineOf(create(MachineSchema, { status }));
  expect([state, note, colour]).toEqual(headline);
});
