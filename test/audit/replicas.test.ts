// @module-tag extended: chain.test.ts seals and verifies; this does it with two replicas.
/** One chain for all replicas: one of them seals at a time, and another goes on when it is gone. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ChainVerifier, type VerifyReport } from '../../src/audit/chain-verifier.ts';
import { fresh } from '../api/fleet.ts';
import { cloneDatabase, type TestDatabase } from '../parts/postgres.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { addToSecurityTable } from '../security/security-table.ts';

let database: TestDatabase;
let dataDir: string;
let first: TestServer;
let second: TestServer;

beforeAll(async () => {
  database = await cloneDatabase();
  dataDir = mkdtempSync(join(tmpdir(), 'ingot-audit-'));
  first = await startTestServer({ database, dataDir });
  second = await startTestServer({ database, dataDir });
});
afterAll(async () => {
  await second?.stop();
  await database?.drop();
  rmSync(dataDir, { recursive: true, force: true });
});

async function verified(from: TestServer): Promise<VerifyReport> {
  const { keyId } = await from.admin.getAuditKey({});
  const verifier = new ChainVerifier({ trustedKeys: [keyId], remembered: null });
  for await (const { lines } of from.admin.exportAudit({})) for (const line of lines) verifier.take(line);
  return verifier.finish();
}

async function sealedWithin(from: TestServer, limitMs: number): Promise<number> {
  const startedAt = performance.now();
  await until(
    () =>
      from.sql<{ open: number }>(
        `SELECT count(*)::int AS open FROM events WHERE event_id > (SELECT max(last_event_id) FROM audit_blocks)`,
      ),
    ([row]) => row?.open === 0,
    limitMs,
  );
  return performance.now() - startedAt;
}

test('both write, and there is one chain without a gap', async () => {
  for (let turn = 0; turn < 10; turn += 1)
    await Promise.all([first, second].map((server) => server.admin.createPool({ name: fresh('pool') })));
  await sealedWithin(second, 20_000);
  const report = await verified(second);
  expect(report.findings).toEqual([]);
  expect(report.checkpoint?.events).toBe(report.events - report.unsealed);
});

test('connections that are cut in the middle leave the chain whole', async () => {
  for (let turn = 0; turn < 5; turn += 1) {
    await second.admin.createPool({ name: fresh('pool') });
    await second.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE application_name = 'ingot' AND datname = current_database() AND pid <> pg_backend_pid()`,
    );
    await until(() =>
      second.admin.listPools({}).then(
        () => true,
        () => false,
      ),
    );
  }
  await sealedWithin(second, 20_000);
  expect((await verified(second)).findings).toEqual([]);
});

test('an event is sealed within a second of its commit', async () => {
  for (let turn = 0; turn < 9; turn += 1) {
    await first.admin.createPool({ name: fresh('timed') });
    await sealedWithin(second, 20_000);
  }
  const rows = await second.sql<{ ms: number }>(
    `SELECT (extract(epoch FROM b.sealed_at - e.at) * 1000)::float8 AS ms FROM events e
     JOIN audit_blocks b ON e.event_id BETWEEN b.first_event_id AND b.last_event_id WHERE e.subject LIKE 'timed-%'`,
  );
  const delays = rows.map(({ ms }) => ms).toSorted((one, other) => one - other);
  const median = delays[4] ?? Number.POSITIVE_INFINITY;
  const figures = `median ${Math.round(median)} ms, longest ${Math.round(delays.at(-1) ?? 0)} ms`;
  addToSecurityTable({ part: 'audit', what: 'from commit to seal', cases: 9, deviations: 0, figures });
  expect(delays).toHaveLength(9);
  // A busy host makes it longer; without the notification of the commit it is five seconds.
  expect(median).toBeLessThan(3_000);
});

test('when one stops, the other seals on', async () => {
  await first.stop();
  await second.admin.createPool({ name: fresh('pool') });
  await sealedWithin(second, 20_000);
  expect((await verified(second)).findings).toEqual([]);
});
