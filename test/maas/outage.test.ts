// @module-tag extended: datacenter/outages.test.ts has steps that wait for an upstream.
/** A MAAS that is unreachable for a while: operations that wait for it continue when it is back. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { ended, type MaasSite, newMachine, onboard, openMaasSite, startMaasServer } from './fleet.ts';

const TIME_LIMIT = 90_000;
const OUTAGE_MS = 2_000;
let site: MaasSite;
let server: TestServer;

beforeAll(async () => {
  site = await openMaasSite();
  server = await startMaasServer(site, { repeatActMs: 500 });
}, TIME_LIMIT);
afterAll(async () => {
  await server?.stop();
  await site?.stop();
});

it(
  'five onboardings wait while a proxy answers 502 for MAAS, and complete without a retry',
  async () => {
    const machines = await Promise.all(Array.from({ length: 5 }, () => newMachine(server)));
    const operations = await Promise.all(machines.map(({ id }) => onboard(server, id)));
    const read = ({ operationId }: { operationId: string }) =>
      server.operations.getOperation({ operationId });
    await until(
      () => Promise.all(operations.map(read)),
      (seen) => seen.every(({ currentStep }) => currentStep !== '' && currentStep !== 'load_site_config'),
    );
    await site.simulator.admin.fault({ fault: 'bad_gateway', times: null });
    const waiting = await until(
      () => Promise.all(operations.map(read)),
      (seen) => seen.every(({ waitingFor }) => waitingFor.includes('to answer since')),
      30_000,
    );
    await sleep(OUTAGE_MS);
    for (const [index, before] of waiting.entries()) {
      expect(before.waitingFor).toMatch(/^waiting for MAAS to answer since \d{4}-\S+Z \(site-a\)$/);
      const operation = operations[index];
      // The same message, and so the same time, for as long as it is unreachable.
      if (operation) expect((await read(operation)).waitingFor).toBe(before.waitingFor);
    }
    await site.simulator.admin.clearFaults();
    for (const operation of operations) {
      const { status, steps, error } = await ended(server, operation);
      expect([status, error?.message]).toEqual(['completed', undefined]);
      expect(steps.filter(({ retryCount }) => retryCount > 0)).toEqual([]);
    }
  },
  TIME_LIMIT,
);
