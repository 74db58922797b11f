// @module-tag extended: changes.test.ts and refusals.test.ts have events of each kind; this has a row for each call.
/**
 * Every method (mutating-methods.ts) and every route (mutating-routes.ts) has a row: it only reads, or it is called and must leave
 * an event of its call, or the row says why not. A new one fails until it has its row.
 */
import { describe, expect, test } from 'vitest';
import { SERVICES } from '../../src/surfaces/access/known-methods.ts';
import { REST_API } from '../../src/surfaces/rest/api/rest-api.ts';
import type { RestRoute } from '../../src/surfaces/rest/api/route.ts';
import { METHODS } from './mutating-methods.ts';
import { ROUTES } from './mutating-routes.ts';
import { type Changes, type Row, server, setUpMutations } from './mutation-site.ts';

setUpMutations();

async function eventsAfter(
  last: number,
): Promise<{ kind: string; request_id: string | null; address: string | null }[]> {
  return server.sql(`SELECT kind, request_id, address FROM events WHERE event_id > $1 AND kind <> 'access'`, [
    last,
  ]);
}

async function lastEvent(): Promise<number> {
  const [row] = await server.sql<{ last: string }>('SELECT max(event_id) AS last FROM events');
  return Number(row?.last ?? 0);
}

async function expectEvent(row: Changes): Promise<void> {
  const given = (await row.before?.()) ?? '';
  const last = await lastEvent();
  await row.call(given);
  const events = await eventsAfter(last);
  expect(events.map(({ kind }) => kind)).toContain(row.kind);
  if (row.origin === 'none') return;
  const ofCall = events.filter(({ kind, request_id }) => kind === row.kind && request_id !== null);
  expect(ofCall, 'the event names its call').not.toEqual([]);
  expect(ofCall[0]?.address).toBe('127.0.0.1');
}

const isChange = (row: Row): row is Changes => typeof row === 'object' && 'kind' in row;

describe('methods', () => {
  test('all have their row', () => {
    const known = Object.fromEntries(
      SERVICES.map((one) => [one.typeName, one.methods.map((m) => m.localName).toSorted()]),
    );
    const rows = Object.fromEntries(
      Object.entries(METHODS).map(([service, methods]) => [service, Object.keys(methods).toSorted()]),
    );
    expect(rows).toEqual(known);
  });

  const changes = Object.entries(METHODS).flatMap(([service, methods]) =>
    Object.entries(methods).flatMap(([method, row]) =>
      isChange(row) ? [[`${service}/${method}`, row] as const] : [],
    ),
  );
  test.each(changes)('%s leaves an event of its call', (_name, row) => expectEvent(row));
});

describe('routes', () => {
  const all = Object.values(REST_API).flatMap(({ routes }) =>
    Object.values(routes as Record<string, RestRoute>).map(({ method, path }) => `${method} ${path}`),
  );

  test('all that change something have their row', () => {
    const changing = all.filter((name) => !name.startsWith('GET '));
    expect(changing.filter((name) => ROUTES[name] === undefined)).toEqual([]);
    expect(Object.keys(ROUTES).filter((name) => !all.includes(name))).toEqual([]);
  });

  const changes = Object.entries(ROUTES).flatMap(([name, row]) =>
    isChange(row) ? [[name, row] as const] : [],
  );
  test.each(changes)('%s leaves an event of its call', (_name, row) => expectEvent(row));
});
