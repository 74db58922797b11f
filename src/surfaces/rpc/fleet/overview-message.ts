import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { overdueFilter } from '../../../domain/dwell.ts';
import { quote } from '../../../domain/filter/quote.ts';
import type { Presence } from '../../../domain/presence.ts';
import type {
  AttentionSchema,
  OverdueSchema,
  OverviewSchema,
} from '../../../gen/baremetal/fleet/v1/fleet_service_pb.ts';
import type { FacetCount } from '../../../store/count-machines.ts';
import type { AttentionGroup, OverdueGroup, Overview } from '../../../store/overview.ts';

export function overviewMessage(overview: Overview): MessageInitShape<typeof OverviewSchema> {
  const { counts } = overview;
  return {
    at: timestampFromDate(overview.at),
    machines: counts.total,
    facets: counts.facets.map(facetMessage),
    attention: overview.attention.map(attentionMessage),
    overdue: overview.overdue.map((group) => overdueMessage(group, overview.at)),
    operationsUnderWay: { ...overview.underWay },
    operationsEnded: { ...overview.ended },
    agentsReady: withPresence(counts.facets, 'ready'),
    agentsLost: withPresence(counts.facets, 'expired'),
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

function withPresence(facets: readonly FacetCount[], presence: Presence): number {
  const values = facets.find(({ field }) => field === 'presence')?.values ?? [];
  return values.find(({ value }) => value === presence)?.machines ?? 0;
}
