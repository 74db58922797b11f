import { EventEmitter } from 'node:events';
import pg from 'pg';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DatabaseAway } from './database-away.ts';
import { DatabaseProbe } from './database-probe.ts';

type Answer = 'ok' | Error;

/** What a connection that exists gets, and what a new one does. */
let kept: Answer;
let fresh: Answer;
let probe: DatabaseProbe;
let seen: string[];

class Connection extends EventEmitter {
  async connect(): Promise<void> {
    if (fresh instanceof Error) throw fresh;
  }
  async query(): Promise<{ rows: object[] }> {
    if (kept instanceof Error) throw kept;
    return { rows: [{ read_only: 'off' }] };
  }
  async end(): Promise<void> {}
}

beforeEach(async () => {
  vi.useFakeTimers();
  kept = 'ok';
  fresh = 'ok';
  seen = [];
  probe = new DatabaseProbe({
    newClient: () => new Connection() as unknown as pg.Client,
    monotonicNow: () => Date.now(),
    onChange: (away) => seen.push(away?.message ?? 'well'),
    onError: (error) => seen.push(String(error)),
    watch: { passed: () => {}, failed: (_loop, error) => seen.push(String(error)) },
  });
  probe.start();
  await vi.advanceTimersByTimeAsync(1_000);
});
afterEach(async () => {
  await probe.stop();
  vi.useRealTimers();
});

const FULL = "the database's disk is full";
const later = () => vi.advanceTimersByTimeAsync(2_000);

function refused(code: string, message = 'no', severity = 'ERROR'): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError(message, 1, 'error'), { code, severity });
}
const diskFull = refused('53100', 'could not extend file "base/5/16384": No space left on device');
const initFile = refused('XX000', 'could not write init file', 'FATAL');
const noConnection = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

test('a full disk is named, also when new connections fail with something that does not say so', async () => {
  kept = diskFull;
  fresh = initFile;
  await later();
  expect(seen).toEqual([FULL]);
  expect(probe.saw(new DatabaseAway('io_error', initFile)).message).toBe(FULL);
});

test('a database that ends of its full disk keeps that cause until it can be written again', async () => {
  kept = diskFull;
  await later();
  fresh = noConnection;
  await later();
  const text = `the database does not answer; before that: ${FULL}`;
  expect(seen).toEqual([FULL, text]);
  expect(probe.saw(new DatabaseAway('unreachable', noConnection)).message).toBe(text);
  kept = 'ok';
  fresh = 'ok';
  await later();
  expect(seen.at(-1)).toBe('well');
  expect(probe.saw(new DatabaseAway('unreachable', noConnection)).message).toBe(
    'the database does not answer',
  );
});

test('one connection that is cut says nothing', async () => {
  const cut = refused('57P01', 'terminating connection due to administrator command', 'FATAL');
  vi.spyOn(Connection.prototype, 'query').mockRejectedValueOnce(cut);
  await later();
  expect(seen).toEqual([]);
});
