import { expect, test } from 'vitest';
import { Readiness } from './readiness.ts';

test('a replica is ready when the last of its causes has ended', () => {
  const readiness = new Readiness();
  expect(readiness.reason).toBeNull();
  readiness.set('database', 'the disk is full');
  readiness.set('schema', 'the schema is newer');
  readiness.set('database', 'the database is starting');
  expect(readiness.reason).toBe('the database is starting; the schema is newer');
  readiness.clear('database');
  expect(readiness.reason).toBe('the schema is newer');
  readiness.clear('schema');
  readiness.clear('schema');
  expect(readiness.reason).toBeNull();
});

test('a note leaves a replica ready, and listeners are called when a cause comes or goes', () => {
  const readiness = new Readiness();
  const reasons: Array<string | null> = [];
  readiness.onChange(() => reasons.push(readiness.reason));
  readiness.note('site-a', 'it does not answer');
  expect([readiness.reason, readiness.notes]).toEqual([null, { 'site-a': 'it does not answer' }]);
  readiness.set('database', 'the disk is full');
  readiness.clear('site-a');
  readiness.clear('database');
  expect(reasons).toEqual(['the disk is full', null]);
  expect([readiness.notes, readiness.causes]).toEqual([{}, {}]);
});

test('what only follows from another cause is in the reason when that one is gone, and always among the causes', () => {
  const readiness = new Readiness();
  readiness.set('watching agents', 'watching agents fails: the database is starting', 'database');
  expect(readiness.reason).toBe('watching agents fails: the database is starting');
  readiness.set('database', 'the database does not answer');
  expect(readiness.reason).toBe('the database does not answer');
  expect(Object.keys(readiness.causes)).toEqual(['watching agents', 'database']);
  readiness.clear('database');
  expect(readiness.reason).toBe('watching agents fails: the database is starting');
});
