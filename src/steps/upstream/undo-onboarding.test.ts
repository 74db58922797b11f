/** Taking a machine back where its site erases at every release, and MAAS waits for ever for the power to be off. */
import { expect, it } from 'vitest';
import { sampleMachine } from '../../domain/machine/machine.fixture.ts';
import type { StepContext } from '../../engine/step-handler.ts';
import { sampleRecord, upstreamOver } from '../../providers/maas/maas-control.fixture.ts';
import type { MaasStatus } from '../../providers/maas/maas-control.ts';

import { NO_CONTROL_PLANE } from '../control-plane.fixture.ts';
import { takeBack } from './undo-onboarding.ts';
import type { UpstreamEnvironment } from './upstream-environment.ts';

const EVENTS = [
  { id: 3, type: 'Failed to power off node' },
  { id: 2, type: 'Disks erased' },
];

/** A machine that hangs in this status after each release. */
function hangingIn(hung: 'Disk erasing' | 'Releasing') {
  let status: MaasStatus = 'Deployed';
  let isMarked = false;
  const orders: string[] = [];
  const order = (name: string, next: MaasStatus) => async () => {
    orders.push(name);
    status = next;
  };
  const maas = {
    read: async () => sampleRecord({ status }),
    checkOurs: async () => {},
    events: async () => {
      const events = isMarked ? EVENTS : [];
      isMarked = true;
      return events;
    },
    lastWipe: async () => null,
    release: order('release', hung),
    abort: order('abort', 'Failed disk erasing'),
    powerOff: order('power off', hung),
  };
  const observed = { source: 'site-a', state: 'Deployed', power: 'on', upstreamId: 'abc', at: '' };
  const machine = sampleMachine({ observed, presence: null });
  const environment = {
    machine,
    capabilities: { upstream: upstreamOver(maas) },
    controlPlane: NO_CONTROL_PLANE,
  } as unknown as UpstreamEnvironment;
  return { environment, orders };
}

async function undone(environment: UpstreamEnvironment) {
  let memo: StepContext['memo'] = {};
  let nowMs = 1_000_000;
  for (let pass = 0; pass < 100; pass += 1) {
    const context = {
      ...{
        memo,
        now: () => new Date(nowMs),
        log: () => {},
        operationId: 'op-1',
        step: 'deploy',
        attempt: 1,
        round: 0,
      },
      effect: (work: () => Promise<unknown>) => work(),
      save: async (next: StepContext['memo']) => {
        memo = next;
        Object.assign(context, { memo });
      },
    };
    const acted = await takeBack(environment, context as unknown as StepContext);
    if (acted.result !== 'started') return acted;
    nowMs += 1_000;
  }
  throw new Error('it never ends');
}

it.each([
  ['Disk erasing', ['release', 'abort', 'release', 'abort', 'release', 'abort', 'release']],
  ['Releasing', ['release', 'power off', 'power off', 'power off']],
] as const)('a release that hangs in %s each time is given up after three tries', async (hung, expected) => {
  const { environment, orders } = hangingIn(hung);
  expect(await undone(environment)).toMatchObject({
    result: 'failed',
    failure: { code: 'RELEASE_FAILED', message: expect.stringContaining(hung) },
  });
  expect(orders).toEqual(expected);
});
