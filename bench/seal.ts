/**
 * What `npm run bench:audit` prints: how fast events are sealed into the hash chain, beside how fast they are appended, on one
 * PostgreSQL with durable settings. The ratio counts; the numbers beside it belong to the machine.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
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

interface Cost {
  readonly seconds: number;
  /** Of processors: this process, and the connections of PostgreSQL together. */
  readonly process: number;
  readonly postgres: number;
}

async function measured(postgres: number, work: () => Promise<void>): Promise<Cost> {
  const [startedAt, own, theirs] = [performance.now(), process.cpuUsage(), processorSeconds(postgres)];
  await work();
  const { user, system } = process.cpuUsage(own);
  return {
    seconds: (performance.now() - startedAt) / 1000,
    process: (user + system) / 1e6,
    postgres: processorSeconds(postgres) - theirs,
  };
}

/** Of the children of a process, as Linux counts them, in ticks of 10 ms. */
function processorSeconds(parent: number): number {
  const ticks = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        // The name in parentheses may have spaces.
        const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
          .replace(/^.*\) /s, '')
          .split(' ');
        return Number(fields[1]) === parent ? [Number(fields[11]) + Number(fields[12])] : [];
      } catch {
        // It has ended.
        return [];
      }
    });
  return ticks.reduce((sum, one) => sum + one, 0) / 100;
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

/** PostgreSQL writes its process id into the first line. */
function postmasterOf(dir: string): number {
  const file = readdirSync(dir, { recursive: true, encoding: 'utf8' }).find((one) =>
    one.endsWith('postmaster.pid'),
  );
  return Number(readFileSync(join(dir, file ?? ''), 'utf8').split('\n')[0]);
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
    keys: { current: () => key, reload: () => key, stage: () => key, adopt: () => {} },
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
    onKeyRetired: () => {},
  });
  try {
    const server = postmasterOf(dir);
    const appending = await measured(server, () => appendAll(database));
    const sealing = await measured(server, async () => {
      while ((await sealer.sealBlock()) > 0);
    });
    const verifier = new ChainVerifier({ trustedKeys: [key.keyId], remembered: head });
    const verifying = await measured(server, async () => {
      const chain = exportChain(
        { database, heads: () => [], now: () => new Date() },
        { since: null, until: null, actor: '' },
      );
      for await (const lines of chain) for (const line of lines) verifier.take(line);
    });
    const { found, events } = verifier.finish();
    if (found > 0 || events !== EVENTS) throw new Error(`verified ${events} events with ${found} findings`);
    const perSecond = ({ seconds }: Cost) => `${rounded(EVENTS / seconds)}/s`;
    const ofProcessor = (seconds: number) => ((WANTED * seconds) / EVENTS).toFixed(2);
    show('events appended, in batches of 500', perSecond(appending));
    show('events sealed and signed, by one process', perSecond(sealing));
    show('events exported and verified', perSecond(verifying));
    show('sealing, of appending', (appending.seconds / sealing.seconds).toFixed(2));
    show('processors for sealing 10,000 events/s: the server', ofProcessor(sealing.process));
    show('processors for sealing 10,000 events/s: PostgreSQL', ofProcessor(sealing.postgres));
  } finally {
    await database.close();
    await postgres.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

await main();
