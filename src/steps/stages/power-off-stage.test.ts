/** MAAS repeats the last known power state for minutes: a machine that it does not report as off is not switched off again and again. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { sampleMachine } from '../../domain/machine/machine.fixture.ts';
import { START, sampleJob, sampleStep } from '../../engine/job.fixture.ts';
import { hold } from '../../engine/job-holder.fixture.ts';
import { MemoryJobStore } from '../../engine/memory-job-store.fixture.ts';
import { StepFailure, type StepHandler } from '../../engine/step-handler.ts';
import { sampleRecord, upstreamOver } from '../../providers/maas/client/maas-control.fixture.ts';

import type { UpstreamEnvironment } from '../upstream/upstream-environment.ts';
import { UPSTREAM_STAGES } from './upstream-stages.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: START, toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const AWAY = new StepFailure(
  { class: 'retryable', code: 'MAAS_UNAVAILABLE', message: "site-a can't do it now (power off, 503)" },
  { upstream: 'MAAS', name: 'site-a', effect: 'none' },
);

it.each([
  ['MAAS says on for three minutes', async () => {}],
  ['MAAS answers 503', () => Promise.reject(AWAY)],
])('a power off is sent at most once in 10 s while %s', async (_why, answer) => {
  const sentAt: number[] = [];
  const maas = {
    read: async () => sampleRecord({ status: 'Ready' }),
    checkOurs: async () => {},
    powerOff: async () => {
      sentAt.push(Date.now());
      await answer();
    },
  };
  const observed = { source: 'site-a', state: 'Ready', power: 'on', upstreamId: 'abc', at: '' };
  const environment = {
    machine: sampleMachine({ observed }),
    capabilities: { upstream: upstreamOver(maas) },
  } as unknown as UpstreamEnvironment;
  const handler = UPSTREAM_STAGES.power_off_maas_node(environment, { pool: '', erase: false });
  const store = new MemoryJobStore<string>(Date.now);
  store.add(sampleJob({ steps: [sampleStep({ timeoutSeconds: 600 })] }));
  const until = Date.now() + 180_000;
  while (Date.now() < until) {
    if (store.dueInMs() > 0) await vi.advanceTimersByTimeAsync(store.dueInMs());
    else await (await hold(store, handler as StepHandler<never> as StepHandler<string>)).over;
  }
  expect(sentAt.length).toBeGreaterThanOrEqual(17);
  const gaps = sentAt.slice(1).map((at, index) => at - (sentAt[index] ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(10_000);
  expect(store.job()).toMatchObject({ status: 'running', steps: [{ attempts: 1 }] });
});

it('a machine that another user took after the release is not switched off', async () => {
  const owned = { class: 'needs_human', code: 'MAAS_MACHINE_OWNED', message: 'it belongs to alice' } as const;
  const powerOff = vi.fn();
  const maas = {
    read: async () => sampleRecord({ status: 'Deployed', owner: 'alice' }),
    checkOurs: () => Promise.reject(new StepFailure(owned)),
    powerOff,
  };
  const observed = { source: 'site-a', state: 'Ready', power: 'on', upstreamId: 'abc', at: '' };
  const environment = {
    machine: sampleMachine({ observed }),
    capabilities: { upstream: upstreamOver(maas) },
  } as unknown as UpstreamEnvironment;
  const handler = UPSTREAM_STAGES.power_off_maas_node(environment, { pool: '', erase: false });
  const store = new MemoryJobStore<string>(Date.now);
  store.add(sampleJob({ steps: [sampleStep({ timeoutSeconds: 600 })] }));
  await (await hold(store, handler as StepHandler<never> as StepHandler<string>)).over;
  expect(store.job()).toMatchObject({ error: { code: 'MAAS_MACHINE_OWNED' } });
  expect(powerOff).not.toHaveBeenCalled();
});
