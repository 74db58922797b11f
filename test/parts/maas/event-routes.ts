/** What MAAS reports of its machines: api/events.py, and the runs of release scripts of api/scriptresults.py. */
import { eventJson, releaseRunJson } from './machine-json.ts';
import { Refusal } from './refusal.ts';
import type { Route } from './route.ts';
import type { World } from './world.ts';

const LEVELS: Readonly<Record<string, number>> = {
  DEBUG: 10,
  INFO: 20,
  WARNING: 30,
  ERROR: 40,
  CRITICAL: 50,
};
const MAX_EVENTS = 1000;
const DEFAULT_EVENTS = 100;

export function eventRoutes(world: World): readonly Route[] {
  return [
    ['GET', /^events\/$/, 'query', ({ query }) => events(world, query)],
    [
      'GET',
      /^nodes\/([^/]+)\/results\/$/,
      '',
      ({ query }, id = '') => {
        const machine = world.machines.get(id);
        if (!machine) throw new Refusal(404, 'No Node matches the given query.');
        const type = query.get('type') ?? 'release';
        if (!['commissioning', 'testing', 'installation', 'release'].includes(type))
          throw new Refusal(400, 'Invalid result type name');
        return type === 'release' ? machine.releaseRuns.map((run) => releaseRunJson(machine, run)) : [];
      },
    ],
  ];
}

function events(world: World, query: URLSearchParams): unknown {
  const limit = Number(query.get('limit') ?? DEFAULT_EVENTS);
  if (limit > MAX_EVENTS) {
    throw new Refusal(400, `Requested number of events ${limit} is greater than limit: ${MAX_EVENTS}`);
  }
  const level = LEVELS[query.get('level') ?? 'INFO'];
  if (level === undefined) throw new Refusal(400, `Unrecognised log level: ${query.get('level')}`);
  const ids = query.getAll('id');
  const before = Number(query.get('before') ?? Number.POSITIVE_INFINITY);
  const after = Number(query.get('after') ?? 0);
  const found = [...world.machines.values()]
    .filter(({ systemId }) => ids.length === 0 || ids.includes(systemId))
    .flatMap((machine) => machine.events.map((event) => ({ machine, event })))
    .filter(({ event }) => (LEVELS[event.level] ?? 0) >= level && event.id < before && event.id > after)
    .sort((a, b) => b.event.id - a.event.id)
    .slice(0, Math.max(1, limit));
  const uri = (name: string, id: number | undefined) => {
    const params = new URLSearchParams(query);
    params.delete('before');
    params.delete('after');
    if (id !== undefined) params.set(name, String(id));
    return `/MAAS/api/2.0/events/?${params}`;
  };
  return {
    count: found.length,
    events: found.map(({ machine, event }) => eventJson(machine, event)),
    next_uri: uri('after', found[0]?.event.id),
    prev_uri: found.length === 0 ? null : uri('before', found.at(-1)?.event.id),
  };
}
