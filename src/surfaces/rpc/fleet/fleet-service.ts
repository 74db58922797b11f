/** baremetal.fleet.v1.FleetService: the fleet as a whole: counts, ids in order, events. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate, timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { Caller } from '../../../domain/access/caller.ts';
import type { Vitals } from '../../../domain/agent/agent.ts';
import { invalidField } from '../../../domain/error/fault.ts';
import { hiddenKinds } from '../../../domain/event.ts';
import { EVENT_FILTER } from '../../../domain/filter/event-filter.ts';
import { MACHINE_FILTER } from '../../../domain/filter/machine-filter.ts';
import { checkMachineId } from '../../../domain/machine/machine-input.ts';
import {
  FleetService,
  type IndexMachinesRequest,
  type ListEventsRequest,
  type ListEventsResponseSchema,
  type MetricHistorySchema,
} from '../../../gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { machineNotFound } from '../../../operations/machines/machine-not-found.ts';
import { type MetricSample, readSamples } from '../../../store/agents/metric-samples.ts';
import { listEvents } from '../../../store/events/event-log.ts';
import { FleetHistoryReader } from '../../../store/history/fleet-history.ts';
import { countMachines } from '../../../store/machines/count-machines.ts';
import { indexMachines, type MachineGroup, machineGroups } from '../../../store/machines/index-machines.ts';
import { groupKey, groupOrder, orderKey } from '../../../store/machines/machine-keys.ts';
import { findMachines } from '../../../store/machines/machines.ts';
import { OverviewReader } from '../../../store/machines/overview.ts';
import { callableMethods } from '../callable-methods.ts';
import { pageSize, pageToken, readPosition } from '../page-token.ts';
import { readFilter } from '../read-filter.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import { defineService, type Service } from '../service.ts';
import { agentsOf } from '../v2/agents-of.ts';
import { machineMessages } from '../v2/machine-messages.ts';
import { eventMessage } from './event-message.ts';
import { fleetHistoryMessage } from './fleet-history-message.ts';
import { listProviders } from './list-providers.ts';
import { facetMessage, overviewMessage } from './overview-message.ts';
import { watchEvents } from './watch-events.ts';

const MAX_MACHINES = 500;
const MAX_FACETS = 20;
const MAX_HOURS = 168;
/** Ids in one message of an index. */
const CHUNK = 5_000;

/** `services` are all services of the server, for callers who ask what they may call. */
export function fleetService(dependencies: ServerDependencies, services: () => readonly Service[]): Service {
  const overviews = new OverviewReader(dependencies.database, dependencies.stalls);
  const histories = new FleetHistoryReader(dependencies.database);
  return defineService(
    FleetService,
    {
      async whoAmI(_request, { caller }) {
        return {
          name: caller.actor.id,
          role: caller.role,
          insecurePlaintext: dependencies.insecurePlaintext,
          version: dependencies.version,
          httpPort: dependencies.httpPort(),
          scope: caller.scope?.text ?? '',
          via: caller.via,
          methods: callableMethods(caller, services()),
          ...(caller.expiresAt !== null && { expiresAt: timestampFromMs(caller.expiresAt) }),
        };
      },

      async getOverview(_request, { caller }) {
        return overviewMessage(await overviews.read(caller.scope));
      },

      async countMachines(request, { caller: { scope } }) {
        const filter = readFilter(request.filter, MACHINE_FILTER);
        const names = [...new Set(request.facets)];
        if (names.length > MAX_FACETS) throw invalidField('facets', `must be at most ${MAX_FACETS}`);
        const keys = names.map((name) => groupKey(name, 'facets'));
        const { total, facets } = await dependencies.database.snapshot((session) =>
          countMachines(session, { filter, scope, keys }),
        );
        return { total, facets: facets.map(facetMessage) };
      },

      async *indexMachines(request, { caller }) {
        const { ids, total, groups } = await machineIndex(dependencies, request, caller);
        let from = 0;
        do {
          yield { total, machineIds: ids.slice(from, from + CHUNK), groups: from === 0 ? [...groups] : [] };
          from += CHUNK;
          // A client that reads fast must not keep the others waiting.
          await nextTurn();
        } while (from < ids.length);
      },

      async getMachines(request, { caller }) {
        const ids = request.machineIds.map((id) => checkMachineId(id, 'machine_ids'));
        if (ids.length > MAX_MACHINES)
          throw invalidField('machine_ids', `must be at most ${MAX_MACHINES}; there are ${ids.length}`);
        const machines = await findMachines(dependencies.database, ids, caller.scope);
        return { machines: await machineMessages(dependencies, machines, caller.scope) };
      },

      watchEvents: (request, { caller, signal }) => watchEvents(dependencies, request, { caller, signal }),

      listEvents: (request, { caller }) => eventsPage(dependencies, request, caller),

      getMetricHistory: ({ machineId }, { caller }) =>
        metricHistory(dependencies, checkMachineId(machineId), caller),

      async getFleetHistory({ hours }, { caller }) {
        if (hours < 0 || hours > MAX_HOURS) throw invalidField('hours', `must be from 1 to ${MAX_HOURS}`);
        return fleetHistoryMessage(await histories.read(hours === 0 ? 24 : hours, caller.scope));
      },

      listProviders: (_request, { caller }) => listProviders(dependencies, caller),
    },
    {
      whoAmI: 'viewer',
      getOverview: 'viewer',
      countMachines: 'viewer',
      indexMachines: 'viewer',
      getMachines: 'viewer',
      watchEvents: 'viewer',
      listEvents: 'viewer',
      getMetricHistory: 'viewer',
      getFleetHistory: 'viewer',
      listProviders: 'viewer',
    },
  );
}

/** With a limit the total is counted, in the same snapshot. */
function machineIndex(
  { database }: ServerDependencies,
  request: IndexMachinesRequest,
  { scope }: Caller,
): Promise<{
  readonly ids: readonly string[];
  readonly total: number;
  readonly groups: readonly MachineGroup[];
}> {
  const { limit } = request;
  if (limit < 0) throw invalidField('limit', 'must be 0 or more');
  const filter = readFilter(request.filter, MACHINE_FILTER);
  const key = orderKey(request.orderBy, 'order_by');
  const groupBy = request.groupBy === '' ? null : groupOrder(request.groupBy, 'group_by');
  const direction = request.descending ? 'descending' : 'ascending';
  return database.snapshot(async (session) => {
    const ids = await indexMachines(session, { filter, scope, key, direction, groupBy, limit });
    const isCut = limit > 0 && ids.length === limit;
    const total = isCut ? (await countMachines(session, { filter, scope, keys: [] })).total : ids.length;
    const groups = groupBy === null ? [] : await machineGroups(session, groupBy, { filter, scope });
    return { ids, total, groups };
  });
}

/** The last keepalive is newer than any sample, unless the last sample has the same time. */
function withNewest(samples: readonly MetricSample[], vitals: Vitals | undefined): readonly MetricSample[] {
  const { lastKeepaliveAt: at = null, metrics = {} } = vitals ?? {};
  const last = samples.at(-1)?.at ?? null;
  const isNews = at !== null && Object.keys(metrics).length > 0 && (last === null || at > last);
  return isNews ? [...samples, { at, metrics }] : samples;
}

async function eventsPage(
  { database }: ServerDependencies,
  request: ListEventsRequest,
  caller: Caller,
): Promise<MessageInitShape<typeof ListEventsResponseSchema>> {
  const filter = readFilter(request.filter, EVENT_FILTER);
  const size = pageSize(request.pageSize);
  const { scope } = caller;
  const paged = { list: 'events', filter: request.filter, scope };
  const events = await listEvents(database, {
    filter,
    scope,
    hidden: hiddenKinds(caller),
    before: readPosition(paged, request.pageToken),
    size,
  });
  const page = events.slice(0, size);
  const last = events.length > size ? page.at(-1) : undefined;
  return {
    events: page.map(eventMessage),
    nextPageToken: pageToken(paged, last ? String(last.eventId) : null),
  };
}

async function metricHistory(
  dependencies: ServerDependencies,
  machineId: string,
  { scope }: Caller,
): Promise<MessageInitShape<typeof MetricHistorySchema>> {
  const machine = await dependencies.machines.find(machineId, scope);
  if (!machine) throw machineNotFound(machineId);
  const agents = await agentsOf(dependencies, [machine]);
  const samples = await readSamples(dependencies.database, machineId);
  const history = withNewest(samples, agents.get(machineId)?.vitals);
  return {
    samples: history.map(({ at, metrics }) => ({ at: timestampFromDate(at), metrics: { ...metrics } })),
  };
}
