// @module-tag extended: onboarding.test.ts has the same workflow on fewer machines.
/** A whole hall at once: hundreds of machines that are new to all go into service on one server. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestServer } from '../parts/server.ts';
import { type MaasSite, newMachine, onboard, openMaasSite, startMaasServer } from './fleet.ts';

/** `npm run test:crashes` has the whole hall. */
const MACHINES = process.env.INGOT_LONG_TESTS === '1' ? 500 : 50;
const TIME_LIMIT = 240_000;
/** Twice the requests of one machine alone: a machine that waits for others does not poll. */
const REQUESTS_A_MACHINE = 60;
/** As many calls at a time as a test's own client should have under way. */
const AT_A_TIME = 50;

let site: MaasSite;
let server: TestServer;

beforeAll(async () => {
  site = await openMaasSite();
  server = await startMaasServer(site, {
    // As often as in operation: how many requests and passes there are is what this is about.
    maxProbeMs: 60_000,
  });
}, TIME_LIMIT);
afterAll(async () => {
  await server?.stop();
  await site?.stop();
});

it(
  `${MACHINES} machines are onboarded at once, and every one of them ends in service`,
  async () => {
    const startedAt = performance.now();
    for (let started = 0; started < MACHINES; started += AT_A_TIME) {
      await Promise.all(
        Array.from({ length: AT_A_TIME }, async () => {
          const { id } = await newMachine(server);
          await onboard(server, id);
        }),
      );
    }
    const startedIn = performance.now() - startedAt;
    const countBy = async (column: 'status' | 'service', table: 'operations' | 'machines') => {
      const rows = await server.sql<{ value: string; count: number }>(
        `SELECT ${column} AS value, count(*)::int AS count FROM ${table} GROUP BY 1`,
      );
      return Object.fromEntries(rows.map(({ value, count }) => [value, count]));
    };
    await expect
      .poll(() => countBy('status', 'operations'), { timeout: TIME_LIMIT, interval: 1_000 })
      .toEqual({ completed: MACHINES });
    const seconds = (ms: number) => (ms / 1000).toFixed(1);
    const took = performance.now() - startedAt;
    console.log(`${MACHINES} machines: started in ${seconds(startedIn)} s, in service in ${seconds(took)} s`);
    expect(await countBy('service', 'machines')).toEqual({ active: MACHINES });
    // One record each: no machine was created twice under load.
    const known = await site.simulator.admin.machines();
    expect(known.map(({ status_name: status }) => status)).toEqual(Array(MACHINES).fill('Deployed'));
    expect(new Set(known.flatMap(({ mac_addresses: macs }) => macs)).size).toBe(MACHINES);
    // The duration depends on this host; the number of requests depends on us. About 33 each are measured.
    const requests = await site.simulator.admin.requests();
    expect(requests.length).toBeLessThan(MACHINES * REQUESTS_A_MACHINE);
  },
  TIME_LIMIT,
);
