import pg from 'pg';
import { beforeEach, expect, it } from 'vitest';
import { Fault } from '../../domain/error/fault.ts';
import { KeepalivesAway } from '../../store/agents/keepalive-store.ts';
import { DatabaseAway } from '../../store/database/database-away.ts';
import { DATABASE_CAUSE, Readiness } from '../../surfaces/readiness.ts';
import { LoopHealth } from './loop-health.ts';

let now: number;
let logged: string[];
let readiness: Readiness;
let loops: LoopHealth;

beforeEach(() => {
  now = 0;
  logged = [];
  readiness = new Readiness();
  const note = (entry: { failures: number }, message: string) =>
    logged.push(`${message} (${entry.failures})`);
  const log = { error: note, info: note } as unknown as ConstructorParameters<typeof LoopHealth>[0]['log'];
  loops = new LoopHealth({ log, monotonicNow: () => now, readiness });
});

const fail = (times: number, error: unknown, loop = 'watching agents') => {
  for (let count = 0; count < times; count += 1) loops.failed(loop, error);
};

it('a loop that failed three times in a row makes the replica not ready, until it passes', () => {
  fail(2, new Error('x'));
  expect(readiness.reason).toBeNull();
  fail(1, new Error('x'));
  fail(3, new DatabaseAway('disk_full', null), 'sampling metrics');
  expect(readiness.causes).toEqual({
    'watching agents': 'watching agents fails: unexpected error, see the server log',
    'sampling metrics': "sampling metrics fails: the database's disk is full",
  });
  loops.passed('watching agents');
  expect(readiness.reason).toBe("sampling metrics fails: the database's disk is full");
  loops.passed('sampling metrics');
  expect(readiness.reason).toBeNull();
});

it('loops that fail because the database is away add nothing to what /readyz says of the database', () => {
  readiness.set(DATABASE_CAUSE, 'the database does not answer');
  fail(3, new DatabaseAway('starting', null));
  expect(readiness.reason).toBe('the database does not answer');
  fail(3, new Error('x'), 'sampling metrics');
  expect(readiness.reason).toContain('sampling metrics fails');
});

it('failures that are not in a row are chance', () => {
  for (let round = 0; round < 10; round += 1) {
    fail(2, new Error('x'));
    loops.passed('watching agents');
  }
  expect(readiness.reason).toBeNull();
});

it('logs what a fault says of itself, which /readyz does not show', () => {
  const entries: unknown[] = [];
  const log = { error: (entry: unknown) => entries.push(entry), info: () => {} };
  const options = { monotonicNow: () => now, readiness };
  loops = new LoopHealth({
    ...options,
    log: log as unknown as ConstructorParameters<typeof LoopHealth>[0]['log'],
  });
  const detail = { message: 'too many', metadata: { missing: '3' } };
  fail(3, new Fault('UPSTREAM_MACHINES_MISSING', detail));
  expect(entries).toMatchObject([{ failures: 1, reason: 'UPSTREAM_MACHINES_MISSING', missing: '3' }]);
  expect(readiness.reason).toBe('watching agents fails: too many');
});

it('logs the first failure, then one a minute with their number, and the end', () => {
  fail(100, new Error('x'));
  now += 59_999;
  fail(100, new Error('x'));
  expect(logged).toEqual(['watching agents (1)']);
  now += 1;
  fail(1, new Error('x'));
  loops.passed('watching agents');
  loops.passed('watching agents');
  expect(logged).toEqual([
    'watching agents (1)',
    'watching agents (201)',
    'a background loop works again (201)',
  ]);
});

it.each([
  ['a fault', new Fault('INTERNAL', { message: 'in words for all' }), 'in words for all'],
  [
    'a refused statement',
    Object.assign(new pg.DatabaseError('relation "secret" is gone', 1, 'error'), { code: '42P01' }),
    'PostgreSQL refused a statement (SQLSTATE 42P01), see the server log',
  ],
  ['anything else', new Error('password=hunter2'), 'unexpected error, see the server log'],
])('shows %s in words that anyone may read', (_what, error, words) => {
  fail(3, error);
  expect(readiness.reason).toBe(`watching agents fails: ${words}`);
});

it('another system that is away is noted, and the replica stays ready', () => {
  for (let count = 0; count < 3; count += 1) {
    loops.withoutReadiness.failed('reading the machines of site-a', new Error('502'));
  }
  fail(3, new KeepalivesAway('no'));
  expect(readiness.reason).toBeNull();
  expect(readiness.notes).toEqual({
    'reading the machines of site-a':
      'reading the machines of site-a fails: unexpected error, see the server log',
    'watching agents': 'watching agents fails: the store of keepalives does not answer',
  });
  loops.passed('watching agents');
  loops.withoutReadiness.passed('reading the machines of site-a');
  expect(readiness.notes).toEqual({});
});
