import { describe, expect, it } from 'vitest';
import { DatabaseHosts, parseDatabaseUrl } from './database-hosts.ts';

describe('a URL of a database', () => {
  it.each([
    ['one server', 'postgres://u:p@h:5432/db', ['postgres://u:p@h:5432/db'], null],
    [
      'several, with ports',
      'postgresql://u:p@h1:1,h2:2,[::1]:3/db?sslmode=disable&target_session_attrs=read-write',
      [
        'postgresql://u:p@h1:1/db?sslmode=disable',
        'postgresql://u:p@h2:2/db?sslmode=disable',
        'postgresql://u:p@[::1]:3/db?sslmode=disable',
      ],
      'read-write',
    ],
    ['several without ports', 'postgres://h1,h2/db', ['postgres://h1/db', 'postgres://h2/db'], null],
    [
      'several as parameters',
      'postgres:///db?host=h1,h2&port=1,2&user=u',
      ['postgres://h1:1/db?user=u', 'postgres://h2:2/db?user=u'],
      null,
    ],
    [
      'a socket',
      'postgresql://u@localhost:5432/db?host=%2Ftmp%2Fsocket',
      ['postgresql://u@localhost:5432/db?host=%2Ftmp%2Fsocket'],
      null,
    ],
    [
      'several sockets',
      'postgres://u@localhost/db?host=/run/a,/run/b',
      ['postgres://u@localhost:5432/db?host=%2Frun%2Fa', 'postgres://u@localhost:5432/db?host=%2Frun%2Fb'],
      null,
    ],
    ['no host', 'postgres://u@/db', ['postgres://u@/db'], null],
  ])('%s', (_words, url, urls, target) => {
    expect(parseDatabaseUrl(url)).toEqual({ urls, target });
  });

  it.each([
    ['another scheme', 'mysql://h/db', 'is not a postgresql:// URL'],
    ['an invalid port', 'postgres://h1:1,h2:x/db', 'is not a postgresql:// URL'],
    [
      'a server that takes no writes',
      'postgres://h1,h2/db?target_session_attrs=standby',
      'any, read-write, primary',
    ],
    ['ports that do not fit', 'postgres:///db?host=a,b,c&port=1,2', '3 hosts and 2 ports'],
  ])('%s is refused without quoting it', (_words, url, problem) => {
    expect(() => parseDatabaseUrl(url)).toThrow(problem);
  });
});

it('names every server and no password when none can be used', async () => {
  const hosts = new DatabaseHosts('postgres://user:secret@127.0.0.1:1,127.0.0.1:2/db');
  const failure = await hosts.search().catch((error: Error) => error.message);
  expect(failure).toContain('127.0.0.1:1: ');
  expect(failure).toContain('127.0.0.1:2: ');
  expect(failure).not.toContain('secret');
});
