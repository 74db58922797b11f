/** What the release stage does where MAAS goes back, or where the machine changed between observing and acting. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { sampleMachine } from '../../domain/machine/machine.fixture.ts';
import { START, sampleJob, sampleStep } from '../../engine/job.fixture.ts';
import { hold } from '../../engine/job-holder.fixture.ts';
import { MemoryJobStore } from '../../engine/memory-job-store.fixture.ts';
import type { StepHandler } from '../../engine/step-handler.ts';
import { sampleRecord, upstreamOver } from '../../providers/maas/client/maas-control.fixture.ts';
import type { MaasStatus } from '../../providers/maas/client/maas-control.ts';

import type { UpstreamEnvironment } from '../upstream/upstream-environment.ts';
import { UPSTREAM_STAGES } from './upstream-stages.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: START, toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A MAAS whose machine is in each of these states in turn, and stays in the last. */
function environmentOf(statuses: readonly MaasStatus[]) {
  const orders: string[] = [];
  let observation = 0;
  const order = (name: string) => async () => void orders.push(name);
  const maas = {
    read: async () => {
      const status = statuses[Math.min(observation, statuses.length - 1)];
      observation += 1;
      return sampleRecord(status === undefined ? {} : { status });
    },
    checkOurs: async () => {},
    events: async () => [],
    lastWipe: async () => null,
    erasesAlways: async () => false,
    release: order('release'),
    abort: order('abort'),
    powerOff: order('power off'),
  };
  const observed = { source: 'site-a', state: 'Deployed', power: 'on', upstreamId: 'abc', at: '' };
  const nodeServices = { forgetSecrets: async () => {} };
  const environment = {
    machine: sampleMachine({ observed }),
    capabilities: { upstream: upstreamOver(maas) },
    controlPlane: { nodeServices },
  };
  return { environment: environment as unknown as UpstreamEnvironment, orders };
}

async function runFor(ms: number, environment: UpstreamEnvironment) {
  const handler = UPSTREAM_STAGES.release_maas_node(environment, { pool: '', erase: true });
  const store = new MemoryJobStore<string>(Date.now);
  store.add(sampleJob({ steps: [sampleStep({ timeoutSeconds: 7200, maxRetries: 0 })] }));
  const until = Date.now() + ms;
  while (Date.now() < until && store.job().finishedAt === null) {
    if (store.dueInMs() > 0) await vi.advanceTimersByTimeAsync(store.dueInMs());
    else await (await hold(store, handler as StepHandler<never> as StepHandler<string>)).over;
  }
  return store.job();
}

it('a machine that goes back to Deployed each time is released three times, and then that is said', async () => {
  const { environment, orders } = environmentOf(['Deployed']);
  const job = await runFor(600_000, environment);
  expect(orders).toEqual(['release', 'release', 'release']);
  expect(job.error).toMatchObject({
    code: 'RELEASE_FAILED',
    message: expect.stringContaining('MAAS goes back to Deployed'),
  });
});

it.each(['Disk erasing', 'Releasing', 'Ready'] as const)(
  'one that is %s by the time of the act is neither stopped nor released',
  async (status) => {
    const { environment, orders } = environmentOf(['Deployed', status]);
    const job = await runFor(60_000, environment);
    expect(job.startedAt).not.toBeNull();
    expect(orders).toEqual([]);
  },
);
