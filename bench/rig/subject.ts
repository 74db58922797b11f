/** What is measured: a server of one build on a PostgreSQL of its own, with durable settings. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/store/embedded/embedded-postgres.ts';
import { LoadClient } from '../client.ts';
import type { Build } from './build-commit.ts';
import type { Cleanup } from './cleanup.ts';
import { ServerProcess } from './server-process.ts';

export interface Subject {
  readonly build: Build;
  readonly server: ServerProcess;
  readonly databaseUrl: string;
  readonly postgresPid: number;
  readonly sql: pg.Pool;
  /** Replaced when the server was started again. */
  client: LoadClient;
}

export interface SubjectOptions {
  readonly build: Build;
  readonly cleanup: Cleanup;
  readonly env?: Readonly<Record<string, string>>;
}

/** A folder that is removed at the end. */
export function temporaryDir(name: string, cleanup: Cleanup): string {
  const dir = mkdtempSync(join(tmpdir(), `ingot-${name}-`));
  cleanup.add(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export interface BenchPostgres {
  readonly url: string;
  readonly pid: number;
  readonly sql: pg.Pool;
}

export async function startPostgres(
  dir: string,
  cleanup: Cleanup,
  settings: Readonly<Record<string, string>> = {},
): Promise<BenchPostgres> {
  const postgres = await startEmbeddedPostgres({ dataDir: dir, databases: 'any', settings });
  cleanup.add(() => postgres.stop());
  const sql = new pg.Pool({ connectionString: postgres.url, max: 4 });
  sql.on('error', () => {});
  cleanup.add(() => sql.end());
  return { url: postgres.url, pid: postgres.pid, sql };
}

export async function startSubject({ build, cleanup, env = {} }: SubjectOptions): Promise<Subject> {
  const dir = temporaryDir('bench', cleanup);
  const postgres = await startPostgres(dir, cleanup);
  const server = await ServerProcess.start({ build, databaseUrl: postgres.url, dataDir: dir, env, cleanup });
  const subject: Subject = {
    build,
    server,
    databaseUrl: postgres.url,
    postgresPid: postgres.pid,
    sql: postgres.sql,
    client: new LoadClient(server.grpcAddress, server.token),
  };
  cleanup.add(() => subject.client.close());
  return subject;
}

/** Returns the milliseconds from the start of the process until it is ready. */
export async function restart(subject: Subject): Promise<number> {
  subject.client.close();
  await subject.server.stop();
  const ms = await subject.server.start();
  subject.client = new LoadClient(subject.server.grpcAddress, subject.server.token);
  return ms;
}
