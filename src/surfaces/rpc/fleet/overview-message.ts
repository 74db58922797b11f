import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Presence } from '../../../domain/agent/presence.ts';
import { quote } from '../../../domain/filter/quote.ts';
import { overdueFilter } from '../../../domain/machine/state-time-limit.ts';
import type {
  AttentionSchema,
  OverdueSchema,
  OverviewSchema,
} from '../../../gen/baremetal/fleet/v1/fleet_service_pb.ts';
import type { FacetCount } from '../../../store/machines/count-machines.ts';
import type { AttentionGroup, OverdueGroup, Overview } from '../../../store/machines/overview.ts';

export function overviewMessage(overview: Overview): MessageInitShape<typeof OverviewSchema> {
  const { counts } = overview;
  return {
    at: timestampFromDate(overview.at),
    machines: counts.total,
    facets: counts.facets.filter(({ field }) => field !== SCHEDULABLE).map(facetMessage),
    attention: overview.attention.map(attentionMessage),
    overdue: [
      ...maintenanceOverdue(overview),
      ...overview.overdue.map((group) => overdueMessage(group, overview.at)),
    ],
    operationsUnderWay: { ...overview.underWay },
    operationsEnded: { ...overview.ended },
    rollouts: { ...overview.rollouts },
    agentsReady: withPresence(counts.facets, 'ready'),
    agentsLost: withPresence(counts.facets, 'expired'),
    machinesSchedulable: counted(counts.facets, SCHEDULABLE, 'true'),
    unhealthyUpstreams: overview.unhealthyUpstreams.map(({ provider, failure, readAt }) => ({
      ...{ provider, failure },
      ...(readAt && { readAt: timestampFromDate(readAt) }),
    })),
  };
}

export function facetMessage({ field, values }: FacetCount) {
  return { field, values: [...values] };
}

function attentionMessage(group: AttentionGroup): MessageInitShape<typeof AttentionSchema> {
  return {
    condition: group.condition,
    reason: group.reason,
    machines: group.machines,
    filter: `attention=${group.condition} AND attention_reason=${quote(group.reason)}`,
    exampleMachineId: group.exampleMachineId,
    exampleMessage: group.exampleMessage,
    newest: timestampFromDate(group.newest),
  };
}

function overdueMessage({ limit, machines }: OverdueGroup, at: Date): MessageInitShape<typeof OverdueSchema> {
  return {
    layer: limit.layer,
    state: limit.state,
    limitSeconds: BigInt(limit.limitSeconds),
    machines,
    filter: overdueFilter(limit, at),
    advice: limit.advice,
  };
}

/** Each has a limit of its own: the end that its order names. */
function maintenanceOverdue({
  maintenanceOverdue: machines,
}: Overview): MessageInitShape<typeof OverdueSchema>[] {
  if (machines === 0) return [];
  return [
    {
      layer: 'maintenance',
      state: 'over',
      machines,
      filter: 'maintenance_overdue=true',
      advice: 'exit maintenance, or enter it again with a new duration',
    },
  ];
}

/** Counts that the overview shows beside the layers. */
const SCHEDULABLE = 'schedulable';

function withPresence(facets: readonly FacetCount[], presence: Presence): number {
  return counted(facets, 'presence', presence);
}

function counted(facets: readonly FacetCount[], name: string, value: string): number {
  const values = facets.find(({ field }) => field === name)?.values ?? [];
  return values.find((each) => each.value === value)?.machines ?? 0;
}
