// @module-tag extended: reconcilers/upstream-sweep.test.ts has the sweeps, reconcile.test.ts what follows from them.
/** What it costs a MAAS to be watched: a large fleet is read in bulk, by one replica at a time. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { forEachBounded } from '../../src/cli/commands/machines/for-each-bounded.ts';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { cloneDatabase, openPool } from '../parts/postgres.ts';
import type { TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { type MaasSite, openMaasSite, startMaasServer } from './fleet.ts';

const TIME_LIMIT = 240_000;
/** `npm run test:crashes` has the large fleet. */
const MACHINES = process.env.INGOT_LONG_TESTS === '1' ? 5_000 : 400;
/** Known by their addresses only: they were never onboarded. */
const UNKNOWN = 200;
const INTERVAL_SECONDS = 6;
/** Hundred at a time, and those that are asked for by address apart. */
const REQUESTS_A_SWEEP = MACHINES / 100;

let site: MaasSite;
let replicas: readonly TestServer[];
let startedAt: number;

const macOf = (index: number) =>
  `52:54:02:${[index >> 16, (index >> 8) & 255, index & 255].map((byte) => byte.toString(16).padStart(2, '0')).join(':')}`;

beforeAll(async () => {
  site = await openMaasSite();
  const { admin } = site.simulator;
  const systemIds: string[] = [];
  await forEachBounded(
    Array.from({ length: MACHINES }, (_, index) => index),
    20,
    async (index) => {
      const { system_id: id } = await admin.addMachine({ mac_addresses: [macOf(index)], status: 'Deployed' });
      systemIds[index] = id;
    },
  );
  const database = await cloneDatabase();
  const pool = openPool(database.url);
  await pool.query(
    `INSERT INTO machines (machine_id, labels, spec, phase, service, observed)
     SELECT 'gpu-' || i, '{}', jsonb_build_object('provider', 'site-a', 'mac_addresses', jsonb_build_array(mac)), 'READY',
       CASE WHEN i > $3 THEN 'offline' END,
       CASE WHEN i > $3 THEN jsonb_build_object('source', 'site-a', 'state', 'Deployed', 'power', 'on', 'upstreamId',
         system_id, 'at', now()) END
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS m(mac, system_id, i)`,
    [systemIds.map((_id, index) => macOf(index)), systemIds, UNKNOWN],
  );
  await pool.end();
  startedAt = performance.now();
  const start = () => startMaasServer(site, { database, probes: { intervalSeconds: INTERVAL_SECONDS } });
  replicas = await Promise.all([start(), start()]);
}, TIME_LIMIT);
afterAll(async () => {
  await Promise.all((replicas ?? []).map((replica) => replica.stop()));
  await site?.stop();
});

describe(`a fleet of ${MACHINES} machines`, () => {
  it(
    'costs a request for a hundred machines a sweep, whatever the number of replicas and of probes',
    async () => {
      const [replica] = replicas;
      if (!replica) throw new Error('there is a replica');
      await until(
        () =>
          replica.sql<{ probed: number; sweeps: number }>(
            `SELECT sweeps::int, (SELECT count(*)::int FROM machines
               WHERE conditions -> 'BMCReachable' ->> 'status' = 'true') AS probed FROM upstream_reads`,
          ),
        ([row]) => row !== undefined && row.sweeps > 0 && row.probed > MACHINES / 3,
        TIME_LIMIT / 2,
      );
      const [swept] = await replica.sql<{ sweeps: number }>('SELECT sweeps::int FROM upstream_reads');
      const requests = await site.simulator.admin.requests();
      const sweeps = swept?.sweeps ?? 0;
      // One at a time, and one an interval: with two replicas that sweep there would be twice as many.
      const intervals = (performance.now() - startedAt) / (INTERVAL_SECONDS * 1000);
      expect(sweeps).toBeLessThanOrEqual(Math.ceil(intervals));
      // The last one may be under way.
      expect(requests.length).toBeLessThanOrEqual(REQUESTS_A_SWEEP * (sweeps + 1));
      expect(requests.every(({ method, path }) => method === 'GET' && path === 'machines/')).toBe(true);
      const asked = requests.flatMap(({ query }) => new URLSearchParams(query).getAll('id'));
      const first = asked.slice(0, MACHINES - UNKNOWN);
      expect(new Set(first).size).toBe(first.length);
    },
    TIME_LIMIT,
  );

  it(
    'keeps its place when the key loses its rights and MAAS lists none of them: the upstream is unhealthy',
    async () => {
      const [replica] = replicas;
      if (!replica) throw new Error('there is a replica');
      const fleet = replica.client(FleetService, replica.adminToken);
      const { admin } = site.simulator;
      const inService = () =>
        replica.sql<{ word: string; machines: number }>(
          `SELECT concat_ws(' ', service, observed ->> 'state') AS word, count(*)::int AS machines
           FROM machines WHERE service IS NOT NULL GROUP BY 1`,
        );
      const none = `(${MACHINES - UNKNOWN} of ${MACHINES - UNKNOWN})`;
      const all = [{ word: 'offline Deployed', machines: MACHINES - UNKNOWN }];
      await admin.changeSite({ user: { username: 'another', isAdmin: false } });
      await replica.sql('UPDATE upstream_reads SET due_at = now()');
      const { unhealthyUpstreams } = await until(
        () => fleet.getOverview({}),
        // A sweep that was under way still saw some of them.
        (overview) => overview.unhealthyUpstreams.some(({ failure }) => failure.includes(none)),
        TIME_LIMIT / 2,
      );
      expect(unhealthyUpstreams.map(({ provider }) => provider)).toEqual(['site-a']);
      const { upstream } = await replica.admin.explainMachine({ machineId: `gpu-${MACHINES}` });
      expect(upstream).toMatchObject({ state: 'Deployed', failure: unhealthyUpstreams[0]?.failure });
      expect(await inService()).toEqual(all);
    },
    TIME_LIMIT,
  );
});
