import pg from 'pg';
import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { SchemaTooNew } from '../store/schema/schema-version.ts';
import { SettingError } from './settings/settings.ts';
import { untilDatabaseReady } from './until-database-ready.ts';

/** An attempt that fails with these one after the other, and then succeeds; time passes only by waiting. */
async function start(failures: readonly Error[], signal = new AbortController().signal) {
  const left = [...failures];
  const causes: string[] = [];
  const slept: number[] = [];
  let now = 0;
  const result = await untilDatabaseReady(
    async () => {
      const failure = left.shift();
      if (failure) throw failure;
      return 'ready';
    },
    {
      log: pino({ level: 'silent' }),
      signal,
      onWaiting: async (cause) => {
        causes.push(cause);
      },
      monotonicNow: () => now,
      sleepFor: async (ms) => {
        slept.push(ms);
        now += ms;
      },
    },
  ).catch((error: unknown) => error);
  return { result, causes, slept };
}

/** As the driver makes them: the database's own errors are of a class of their own. */
const coded = (code: string, message = 'text') =>
  Object.assign(/^\d/.test(code) ? new pg.DatabaseError(message, 0, 'error') : new Error(message), { code });

describe('waiting for the database', () => {
  it('goes on for as long as it does not answer, with growing pauses', async () => {
    const failures = Array.from({ length: 20 }, () =>
      coded('ECONNREFUSED', 'connect ECONNREFUSED 10.0.0.1:5432'),
    );
    const { result, causes, slept } = await start(failures);
    expect(result).toBe('ready');
    expect(new Set(causes)).toEqual(new Set(['the database does not answer']));
    expect(slept.slice(0, 6)).toEqual([250, 500, 1000, 2000, 4000, 5000]);
    expect(slept.at(-1)).toBe(5000);
  });

  it.each(['ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'ECONNRESET', '25006'])('%s passes', async (code) => {
    expect((await start([coded(code)])).result).toBe('ready');
  });

  it('waits for a database that is not created yet, and takes it for a wrong setting after half a minute', async () => {
    const missing = coded('3D000', 'database "ingot" does not exist');
    expect((await start([missing, missing, missing])).result).toBe('ready');
    const { result, slept } = await start(Array.from({ length: 20 }, () => missing));
    expect(result).toBeInstanceOf(SettingError);
    expect((result as Error).message).toBe('DATABASE_URL: database "ingot" does not exist (3D000)');
    expect(slept.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThanOrEqual(30_000);
  });

  it('counts that half minute from when the database answers', async () => {
    const away = Array.from({ length: 20 }, () => coded('ECONNREFUSED'));
    expect((await start([...away, coded('28P01')])).result).toBe('ready');
  });

  it('goes on for as long as the schema is too new, and says so', async () => {
    const { result, causes } = await start([new SchemaTooNew('9-x.sql', '2.0.0', '1.0.0')]);
    expect(result).toBe('ready');
    expect(causes).toEqual([expect.stringContaining('9-x.sql, which needs Ingot 2.0.0 or later')]);
  });

  it('does not wait for what no waiting helps against', async () => {
    const broken = new Error('migration 0001 was changed');
    expect((await start([broken])).result).toBe(broken);
  });

  it('ends at an abort', async () => {
    const { result } = await start([coded('ECONNREFUSED')], AbortSignal.abort());
    expect((result as Error).name).toBe('AbortError');
  });
});
