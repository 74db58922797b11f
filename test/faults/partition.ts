/** One of two replicas is cut off from the database, both ways and without an error, for several leases. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEmbeddedPostgres } from '../../src/store/embedded/embedded-postgres.ts';
import { socketDirOf } from '../../src/store/embedded/socket-dir.ts';
import { BlackholeProxy, throughPort } from '../parts/blackhole-proxy.ts';
import type { FaultResult } from './fault-result.ts';
import { LEASE_MS, onOneServer } from './one-server.ts';
import { type FaultStage, secondsSince } from './run-fault.ts';

const CUT_MS = 5 * LEASE_MS;
/** How soon a replica that is cut off must say so, and one that is connected again. */
const NOTICED_WITHIN_MS = 15_000;

export async function partition(): Promise<FaultResult> {
  const dataDir = mkdtempSync(join(tmpdir(), 'ingot-test-postgres-faults-'));
  const postgres = await startEmbeddedPostgres({ dataDir, databases: 'any' });
  const proxy = await BlackholeProxy.start(join(socketDirOf(postgres.url), '.s.PGSQL.5432'));
  const through = throughPort(postgres.url, proxy.port);
  try {
    return await onOneServer(postgres.url, {
      fault: 'partition',
      urlOf: (slot) => (slot === 0 ? through : postgres.url),
      strike: (stage) => cutOff(proxy, stage),
    });
  } finally {
    await proxy.stop();
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function cutOff(proxy: BlackholeProxy, stage: FaultStage): Promise<number> {
  // They are started in the order of their slots.
  const [victim] = stage.replicas.ready;
  if (!victim) throw new Error('no replica is ready');
  const before = await stage.underWay();
  const cutAt = performance.now();
  proxy.cut();
  const noticed = becomes(victim.httpPort, false);
  await stage.untilMoved(before);
  const seconds = secondsSince(cutAt);
  if (!(await noticed)) stage.problem('the replica that was cut off stayed ready');
  await sleep(Math.max(0, CUT_MS - secondsSince(cutAt) * 1000));
  proxy.heal();
  if (!(await becomes(victim.httpPort, true))) stage.problem('the replica did not become ready again');
  await stage.untilMoved(await stage.underWay());
  await stage.agents.untilAnswered();
  return seconds;
}

async function becomes(httpPort: number, ready: boolean): Promise<boolean> {
  const end = performance.now() + NOTICED_WITHIN_MS;
  while (performance.now() < end) {
    const isReady = await fetch(`http://127.0.0.1:${httpPort}/readyz`, {
      signal: AbortSignal.timeout(3_000),
    }).then(
      ({ status }) => status === 200,
      () => false,
    );
    if (isReady === ready) return true;
    await sleep(250);
  }
  return false;
}
