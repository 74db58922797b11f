/**
 * What `npm run bench:audit` prints: how fast events are sealed into the hash chain, beside how fast they are appended, on one
 * PostgreSQL with durable settings. The ratio counts; the numbers beside it belong to the machine.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { auditKeyOf, newKeyPem } from '../src/audit/audit-key.ts';
import type { Checkpoint } from '../src/audit/chain.ts';
import { ChainVerifier } from '../src/audit/chain-verifier.ts';
import { AuditSealer } from '../src/store/audit/audit-sealer.ts';
import { exportChain } from '../src/store/audit/export-chain.ts';
import { Database } from '../src/store/database/database.ts';
import { startEmbeddedPostgres } from '../src/store/embedded/embedded-postgres.ts';
import { appendEvents } from '../src/store/events/append-events.ts';
import { changeEvent } from '../src/store/events/record-change.ts';
import { migrate } from '../src/store/schema/migrate.ts';

const EVENTS = Number(process.env.BENCH_EVENTS ?? 50_000);
const BATCH = 500;
const WANTED = 10_000;

function show(what: string, value: string): void {
  console.log(`${what.padEnd(62)} ${value}`);
}

const rounded = (value: number): string => Math.round(value).toLocaleString('en');

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1000;
}

async function appendAll(database: Database): Promise<void> {
  const actor = {
    kind: 'operator',
    id: 'bench',
    origin: { address: '127.0.0.1', requestId: 'r', via: 'token' },
  } as const;
  for (let done = 0; done < EVENTS; done += BATCH) {
    const events = Array.from({ length: BATCH }, (_, n) =>
      changeEvent({
        kind: 'machine',
        subject: `m-${done + n}`,
        to: 'updated',
        actor,
        machineId: `m-${done + n}`,
        before: { labels: { rack: 'r1' } },
        after: { labels: { rack: 'r2' } },
        metadata: { step: n, of: BATCH, source: 'bench' },
      }),
    );
    await appendEvents(database, events);
  }
}

async function main(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'ingot-seal-'));
  const postgres = await startEmbeddedPostgres({ dataDir: dir, databases: 'any' });
  await migrate(postgres.url, { version: '0.1.0', signal: new AbortController().signal });
  const database = new Database({ url: postgres.url, maxConnections: 4, onIdleError: () => {} });
  let head: Checkpoint | null = null;
  const key = auditKeyOf(newKeyPem());
  const sealer = new AuditSealer({
    database,
    key: () => key,
    head: {
      read: () => head,
      write: (next) => {
        head = next;
      },
      setAside: () => {},
      readLost: () => [],
    },
    watch: { passed: () => {}, failed: () => {} },
    now: () => new Date(),
    monotonicNow: () => performance.now(),
    onHeadLost: () => {},
    onKeyReplaced: () => {},
  });
  try {
    const appending = await timed(() => appendAll(database));
    const sealing = await timed(async () => {
      while ((await sealer.sealBlock()) > 0);
    });
    const verifier = new ChainVerifier({ trustedKeys: [key.keyId], remembered: head });
    const verifying = await timed(async () => {
      const chain = exportChain(
        { database, heads: () => [], now: () => new Date() },
        { since: null, until: null, actor: '' },
      );
      for await (const lines of chain) for (const line of lines) verifier.take(line);
    });
    const { found, events } = verifier.finish();
    if (found > 0 || events !== EVENTS) throw new Error(`verified ${events} events with ${found} findings`);
    show('events appended, in batches of 500', `${rounded(EVENTS / appending)}/s`);
    show('events sealed and signed, by one process', `${rounded(EVENTS / sealing)}/s`);
    show('events exported and verified', `${rounded(EVENTS / verifying)}/s`);
    show('sealing, of appending', (appending / sealing).toFixed(2));
    show('of one processor, sealing 10,000 events each second', ((WANTED * sealing) / EVENTS).toFixed(2));
  } finally {
    await database.close();
    await postgres.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

await main();
