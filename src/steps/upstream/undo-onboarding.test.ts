/** Taking a machine back where its site erases at every release, and MAAS waits forever for the power to be off. */
import { expect, it } from 'vitest';
import { sampleMachine } from '../../domain/machine/machine.fixture.ts';
import type { StepContext } from '../../engine/step-handler.ts';
import { sampleRecord, upstreamOver } from '../../providers/maas/client/maas-control.fixture.ts';
import type { MaasStatus } from '../../providers/maas/client/maas-control.ts';

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
  return { environment: environmentOf(maas), orders };
}

/** Its first release hangs, without an event; the second is over between the read of its status and that of its events. */
function hangingOnce() {
  let status: MaasStatus = 'Deployed';
  const orders: string[] = [];
  const events: { id: number; type: string }[] = [];
  const maas = {
    read: async () => {
      const record = sampleRecord({ status });
      if (orders.length === 3) status = 'Ready';
      return record;
    },
    checkOurs: async () => {},
    events: async () => [...events],
    lastWipe: async () => null,
    release: async () => {
      orders.push('release');
      status = 'Disk erasing';
      for (const type of ['User erasing disk', 'Disks erased'])
        events.unshift({ id: events.length + 1, type });
    },
    abort: async () => {
      orders.push('abort');
      status = 'Failed disk erasing';
    },
  };
  return { environment: environmentOf(maas), orders };
}

function environmentOf(maas: Parameters<typeof upstreamOver>[0]): UpstreamEnvironment {
  const observed = { source: 'site-a', state: 'Deployed', power: 'on', upstreamId: 'abc', at: '' };
  return {
    machine: sampleMachine({ observed, presence: null }),
    capabilities: { upstream: upstreamOver(maas) },
    controlPlane: NO_CONTROL_PLANE,
  } as unknown as UpstreamEnvironment;
}

async function undone(environment: UpstreamEnvironment) {
  let memo: StepContext['memo'] = {};
  let nowMs = 1_000_000;
  for (let pass = 0; pass < 1_000; pass += 1) {
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

it('a release after one that hung has its own time: it is not aborted while it ends', async () => {
  const { environment, orders } = hangingOnce();
  expect(await undone(environment)).toMatchObject({ result: 'done' });
  expect(orders).toEqual(['release', 'abort', 'release']);
});
