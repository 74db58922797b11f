/**
 * The disk of the database is full for a while, to the last byte, and then it is not. Operations that were under way must all
 * end well, callers must be given the cause, and the operator has nothing to do but to free space.
 *
 * With the embedded PostgreSQL, and with a separate PostgreSQL that is started again when it ends, as systemd would.
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type Operation, Operation_Phase } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { ensurePassword } from '../../src/store/embedded/access.ts';
import { socketUrl } from '../../src/store/embedded/socket-dir.ts';
import { startSupervisedPostgres } from '../../src/store/embedded/supervised-postgres.ts';
import { installedDebianPostgres } from '../parts/debian-postgres.ts';
import { CallError, startTestServer, type TestServer } from '../parts/server.ts';
import { SmallDisk } from '../parts/small-disk.ts';
import type { FaultResult } from './fault-result.ts';

export type DiskOf = 'embedded' | 'debian';

export interface DiskFullOptions {
  readonly diskOf: DiskOf;
  readonly operations: number;
  readonly fullSeconds: number;
  /** How long all operations may take to end when there is room again. */
  readonly limitSeconds: number;
}

const MEGABYTES = 192;
const CAUSE_WITHIN_MS = 2_000;
const LEASE_MS = 2_000;
const STEP_MS = '1500';

export async function diskFull(): Promise<FaultResult> {
  const options = { operations: 48, fullSeconds: 30, limitSeconds: 120 };
  const results = [
    await diskFullOf({ ...options, diskOf: 'embedded' }),
    await diskFullOf({ ...options, diskOf: 'debian' }),
  ];
  const sum = (of: (result: FaultResult) => number) =>
    results.reduce((total, result) => total + of(result), 0);
  return {
    fault: 'disk full',
    accepted: sum(({ accepted }) => accepted),
    lost: sum(({ lost }) => lost),
    doubled: sum(({ doubled }) => doubled),
    needingHuman: sum(({ needingHuman }) => needingHuman),
    recoverySeconds: Math.max(...results.map(({ recoverySeconds }) => recoverySeconds)),
    problems: results.flatMap(({ fault, problems }) => problems.map((problem) => `${fault}: ${problem}`)),
  };
}

export async function diskFullOf(options: DiskFullOptions): Promise<FaultResult> {
  const disk = SmallDisk.mount(MEGABYTES);
  try {
    const site = await startSite(disk, options.diskOf);
    try {
      return await new DiskFull(disk, site.server, site.url, options).run();
    } finally {
      disk.empty();
      await site.stop();
    }
  } finally {
    disk.unmount();
  }
}

interface Site {
  readonly server: TestServer;
  readonly url: () => string;
  stop(): Promise<void>;
}

async function startSite(disk: SmallDisk, diskOf: DiskOf): Promise<Site> {
  const dataDir = join(disk.path, 'data');
  if (diskOf === 'embedded') {
    const server = await startTestServer({
      database: { url: '', drop: async () => {} },
      dataDir,
      leaseMs: LEASE_MS,
    });
    return { server, url: () => embeddedUrl(dataDir), stop: () => server.stop() };
  }
  mkdirSync(dataDir);
  chmodSync(dataDir, 0o755);
  const postgres = await startSupervisedPostgres({
    dataDir,
    binaries: installedDebianPostgres(),
    settings: { shared_buffers: '32MB' },
    onExit: () => {},
    onStarted: () => {},
    onStartFailed: () => {},
  });
  const server = await startTestServer({
    database: { url: postgres.url, drop: async () => {} },
    leaseMs: LEASE_MS,
  });
  return {
    server,
    url: () => postgres.url,
    stop: async () => {
      await server.stop();
      await postgres.stop();
    },
  };
}

function embeddedUrl(dataDir: string): string {
  const file = join(dataDir, 'postgresql', 'postmaster.pid');
  const [, , , , socketDir = ''] = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  return socketUrl(socketDir, ensurePassword(dataDir));
}

class DiskFull {
  readonly #disk: SmallDisk;
  readonly #server: TestServer;
  readonly #url: () => string;
  readonly #options: DiskFullOptions;
  readonly #problems: string[] = [];

  constructor(disk: SmallDisk, server: TestServer, url: () => string, options: DiskFullOptions) {
    this.#disk = disk;
    this.#server = server;
    this.#url = url;
    this.#options = options;
  }

  async run(): Promise<FaultResult> {
    const accepted = await this.#startOperations();
    this.#disk.fill();
    await this.#whileFull(performance.now());
    this.#disk.empty();
    const freeAt = performance.now();
    const operations = await this.#untilEnded(accepted);
    const recoverySeconds = (performance.now() - freeAt) / 1000;
    await this.#checkReadyAgain();
    const succeeded = operations.filter(({ phase }) => phase === Operation_Phase.SUCCEEDED);
    for (const { operationId, error } of operations.filter((operation) => !succeeded.includes(operation))) {
      this.#problems.push(`${operationId} did not end well: ${error?.code ?? 'it has not ended'}`);
    }
    return {
      fault: `disk full (${this.#options.diskOf})`,
      accepted: accepted.length,
      lost: accepted.length - succeeded.length,
      doubled: await this.#doubled(),
      needingHuman: operations.filter(({ status }) => status === 'failed_manual_intervention').length,
      recoverySeconds,
      problems: this.#problems,
    };
  }

  async #startOperations(): Promise<string[]> {
    const { machines } = this.#server;
    const ids = Array.from({ length: this.#options.operations }, (_value, index) => `full-${index}`);
    const started = await Promise.all(
      ids.map(async (machineId) => {
        await machines.registerMachine({ machine: { machineId, labels: { 'fake/step-ms': STEP_MS } } });
        return machines.enterMaintenance({ machineId, requestId: 'r-1' });
      }),
    );
    return started.map(({ operationId }) => operationId);
  }

  async #whileFull(since: number): Promise<void> {
    let namedAt: number | null = null;
    for (let call = 0; performance.now() - since < this.#options.fullSeconds * 1000; call += 1) {
      const { status, reason } = await this.#readiness();
      if (status === 503 && reason.includes('database')) namedAt ??= performance.now() - since;
      await this.#checkRefusal(call);
      await sleep(100);
    }
    if (namedAt === null) this.#problems.push('/readyz did not turn 503 with the cause');
    else if (namedAt > CAUSE_WITHIN_MS) {
      this.#problems.push(`/readyz named the cause after ${Math.round(namedAt)} ms`);
    }
  }

  /** A call may still pass, as long as there is room in a page; one that does not says why. */
  async #checkRefusal(call: number): Promise<void> {
    const machineId = `other-${call}`;
    // Nothing that can be compressed, so that it needs room.
    const labels = { text: randomBytes(2_000).toString('hex') };
    try {
      await this.#server.machines.registerMachine({ machine: { machineId, labels } });
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      if (error.code === 'UNAVAILABLE' && error.message.includes('the database')) return;
      this.#problems.push(`a call was refused with ${error.code}: ${error.message}`);
    }
  }

  async #readiness(): Promise<{ status: number; reason: string }> {
    const answer = await fetch(`${this.#server.httpUrl}/readyz`);
    const body = (await answer.json()) as { reason?: string };
    return { status: answer.status, reason: body.reason ?? '' };
  }

  async #checkReadyAgain(): Promise<void> {
    for (let tries = 0; tries < 100; tries += 1) {
      if ((await this.#readiness()).status === 200) return;
      await sleep(100);
    }
    this.#problems.push(`/readyz is still 503: ${(await this.#readiness()).reason}`);
  }

  async #untilEnded(ids: readonly string[]): Promise<Operation[]> {
    const deadline = performance.now() + this.#options.limitSeconds * 1000;
    const found = new Map<string, Operation>();
    while (performance.now() < deadline) {
      for (const operationId of ids.filter((id) => found.get(id)?.finishedAt === undefined)) {
        const operation = await this.#server.operations.getOperation({ operationId }).catch(() => null);
        if (operation) found.set(operationId, operation);
      }
      if (ids.every((id) => found.get(id)?.finishedAt !== undefined)) break;
      await sleep(200);
    }
    return [...found.values()];
  }

  /** Steps that were reported done more than once, attempts beyond the first, and deaths that were none. */
  async #doubled(): Promise<number> {
    const client = new pg.Client({ connectionString: this.#url() });
    await client.connect();
    try {
      const { rows } = await client.query<{ operation_id: string; deaths: number; attempts: number[] }>(
        `SELECT operation_id, deaths, jsonb_path_query_array(steps, '$[*].attempts') AS attempts FROM operations
         WHERE deaths > 0 OR jsonb_path_exists(steps, '$[*].attempts ? (@ > 1)')`,
      );
      for (const { operation_id, deaths, attempts } of rows) {
        this.#problems.push(`${operation_id} counts ${deaths} deaths and ${attempts.join(', ')} attempts`);
      }
      const doubled = await client.query(
        `SELECT operation_id, subject FROM events WHERE kind = 'step' AND to_state = 'succeeded'
         GROUP BY 1, 2 HAVING count(*) > 1`,
      );
      return doubled.rowCount ?? 0;
    } finally {
      await client.end();
    }
  }
}
