import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Presence } from '../../../domain/agent/presence.ts';
import { quote } from '../../../domain/filter/quote.ts';
import {
  HEADLINE_RULES,
  type HeadlineReason,
  type HeadlineTone,
  reasonWords,
} from '../../../domain/machine/headline.ts';
import { overdueFilter } from '../../../domain/machine/state-time-limit.ts';
import type { Stall } from '../../../domain/operation/stall.ts';
import type {
  AttentionSchema,
  OverdueSchema,
  OverviewSchema,
  StalledOperationSchema,
} from '../../../gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { OperationType } from '../../../gen/baremetal/v2/operation_pb.ts';
import type { HeadlineGroup } from '../../../store/machines/count-headlines.ts';
import type { FacetCount } from '../../../store/machines/count-machines.ts';
import type { AttentionGroup, OverdueGroup, Overview } from '../../../store/machines/overview.ts';
import { stallMessage } from '../v2/stall-message.ts';

export function overviewMessage(overview: Overview): MessageInitShape<typeof OverviewSchema> {
  const { counts } = overview;
  return {
    at: timestampFromDate(overview.at),
    machines: counts.total,
    facets: counts.facets.filter(({ field }) => field !== SCHEDULABLE).map(facetMessage),
    attention: [
      ...overview.attention.map(attentionMessage),
      ...overview.headlines.filter(({ byCondition }) => !byCondition).map(headlineMessage),
    ].sort((left, right) => (right.machines ?? 0) - (left.machines ?? 0)),
    machinesFailed: withTone(overview.headlines, 'failed'),
    machinesWarned: withTone(overview.headlines, 'warning'),
    stalled: overview.stalled.slice(0, MAX_STALLED).map(stalledMessage),
    operationsStalled: overview.stalled.length,
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
    title: reasonWords(group.reason),
    newest: timestampFromDate(group.newest),
  };
}

/** The titles of groups whose machines have no condition that names them. */
const HEADLINE_TITLES: Readonly<Partial<Record<HeadlineReason, string>>> = {
  install_failed: 'install failed',
  drift: 'its upstream disagrees',
  quarantined: 'quarantined',
  never_registered: 'agent did not register',
  agent_lost: 'agent lost',
  offline: 'offline',
  maintenance_overdue: 'maintenance overdue',
  degraded: 'degraded',
  unreachable: 'unreachable',
};

function headlineMessage(group: HeadlineGroup): MessageInitShape<typeof AttentionSchema> {
  const title = HEADLINE_TITLES[group.reason] ?? group.reason;
  return {
    reason: group.reason,
    title,
    machines: group.machines,
    filter: `headline=${group.reason} AND effective_state!=ATTENTION AND effective_state!=BLOCKED`,
    exampleMachineId: group.example?.machineId ?? '',
    exampleMessage: title,
    ...(group.example && { newest: timestampFromDate(group.example.since) }),
  };
}

function withTone(groups: readonly HeadlineGroup[], tone: HeadlineTone): number {
  const matching = groups.filter(({ reason }) => HEADLINE_RULES[reason].tone === tone);
  return matching.reduce((sum, { machines }) => sum + machines, 0);
}

const MAX_STALLED = 20;

function stalledMessage(stall: Stall): MessageInitShape<typeof StalledOperationSchema> {
  const { operationId, machineId, type } = stall;
  return { operationId, machineId, type: OperationType[type], stall: stallMessage(stall) };
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
