import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { StoreAway } from '../../engine/job-store.ts';
import { AWAY_KINDS, asAway, DatabaseAway } from './database-away.ts';

function refused(code: string): pg.DatabaseError {
  const error = new pg.DatabaseError('could not extend file "base/5/16384"', 1, 'error');
  error.code = code;
  return error;
}

const kindOf = (error: unknown) => {
  const away = asAway(error);
  return away instanceof DatabaseAway ? away.kind : null;
};

describe('an error of the database', () => {
  it.each([
    ['53100', 'disk_full'],
    ['53200', 'out_of_memory'],
    ['53300', 'too_many_connections'],
    ['53400', 'out_of_resources'],
    ['58030', 'io_error'],
    ['25006', 'read_only'],
    ['57P01', 'stopping'],
    ['57P02', 'crashed'],
    ['57P03', 'starting'],
    ['57P04', 'stopping'],
    ['57P05', 'stopping'],
    ['57014', 'too_slow'],
    ['55P03', 'too_slow'],
    ['08006', 'connection_lost'],
    ['25P03', 'connection_lost'],
    ['28P01', 'login_refused'],
    ['3D000', 'login_refused'],
    ['40001', 'conflict'],
    ['40P01', 'conflict'],
  ])('%s is %s', (code, kind) => {
    expect(kindOf(refused(code))).toBe(kind);
  });

  it.each([
    'Connection terminated',
    'Connection terminated unexpectedly',
    'Client has encountered a connection error and is not queryable',
    'Client was closed and is not queryable',
    'Query read timeout',
  ])('"%s" is a lost connection', (message) => {
    expect(kindOf(new Error(message))).toBe('connection_lost');
  });

  it('a socket that broke is a lost connection', () => {
    const error = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' });
    expect(kindOf(error)).toBe('connection_lost');
  });

  it('whatever keeps a connection from being made says that the database does not answer', () => {
    const away = asAway(new Error('timeout exceeded when trying to connect'), 'connecting');
    expect(away).toBeInstanceOf(StoreAway);
    expect((away as DatabaseAway).kind).toBe('unreachable');
  });

  it('keeps its cause for the log, and shows none of it', () => {
    const error = refused('53100');
    const away = asAway(error) as DatabaseAway;
    expect([away.message, away.code, away.cause]).toEqual([AWAY_KINDS.disk_full.cause, '53100', error]);
    expect(asAway(away)).toBe(away);
  });
});

it('an error that ends the connection is never about the statement', () => {
  const fatal = Object.assign(refused('XX000'), { severity: 'FATAL', message: 'cache lookup failed' });
  expect(kindOf(fatal)).toBe('connection_lost');
  expect(kindOf(Object.assign(fatal, { message: 'could not write init file' }))).toBe('io_error');
});

it.each(['23505', '22008', '42P01', '25P02', 'XX000', ''])('%s is about the statement', (code) => {
  const error = refused(code);
  expect(asAway(error)).toBe(error);
});

it('an error of the program is not the database', () => {
  const error = new TypeError('x is not a function');
  expect(asAway(error)).toBe(error);
});
