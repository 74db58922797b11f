import { Command } from 'commander';
import {
  type Attention,
  type Facet,
  type Overdue,
  type Overview,
  OverviewSchema,
  type StalledOperation,
  type UnhealthyUpstream,
} from '../../../gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { OperationType } from '../../../gen/baremetal/v2/operation_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { addOutput } from '../../input/options.ts';
import { jsonOf, type OutputFormat, type Rendering, writeOne } from '../../output/format.ts';
import { displayWidth, padEnd, plainText } from '../../output/plain-text.ts';
import { type Column, Table } from '../../output/table.ts';
import { ageText, durationText } from '../../output/time-text.ts';

const OVERVIEW: Rendering<Overview> = {
  json: (overview) => jsonOf(OverviewSchema, overview),
  name: ({ machines }) => String(machines),
  columns: [],
  wideColumns: [],
};

export function showOverview(context: CommandContext): Command {
  const command = new Command('overview').description(
    'Show an overview of the fleet: counts, machines that need attention, overdue states',
  );
  return addOutput(command).action(
    context.action<{ output: OutputFormat }>(async ({ options, api }) => {
      const overview = await api.fleet.getOverview({});
      writeOne(context.out, options.output, OVERVIEW, overview, () => describe(context, overview));
      return 'ok';
    }),
  );
}

function describe(context: CommandContext, overview: Overview): void {
  const { out } = context;
  const counts: Array<readonly [string, string]> = [
    ['machines', String(overview.machines)],
    ...overview.facets.map((facet) => [facet.field, facetText(facet)] as const),
    ['agents', `ready ${overview.agentsReady}, lost ${overview.agentsLost}`],
    ['schedulable', `${overview.machinesSchedulable} machines`],
    ['attention', attentionText(context, overview)],
    ['active', countsText(overview.operationsUnderWay)],
    ['rollouts', countsText(overview.rollouts)],
    ['finished in 24 h', countsText(overview.operationsEnded)],
  ];
  const width = Math.max(...counts.map(([name]) => displayWidth(name)));
  for (const [name, text] of counts) out.line(`${padEnd(name, width)}  ${text}`);
  if (overview.attention.length > 0) {
    out.line('\nNeeds attention:');
    new Table(out, attentionColumns(context.now()), 'wrapped').write(overview.attention);
  }
  if (overview.stalled.length > 0) {
    const others = overview.operationsStalled - overview.stalled.length;
    out.line(`\nStalled operations:${others > 0 ? ` (${others} more)` : ''}`);
    new Table(out, STALLED_COLUMNS, 'wrapped').write(overview.stalled);
  }
  if (overview.unhealthyUpstreams.length > 0) {
    out.line('\nUnreadable upstreams:');
    new Table(out, upstreamColumns(context.now()), 'wrapped').write(overview.unhealthyUpstreams);
  }
  // Maintenance that is over is among those that need attention.
  const overdue = overview.overdue.filter(({ layer }) => layer !== 'maintenance');
  if (overdue.length > 0) {
    out.line('\nOverdue:');
    new Table(out, OVERDUE_COLUMNS, 'wrapped').write(overdue);
  }
}

/** Only what failed, or is blocked, is red, and nothing is where all is well. */
function attentionText({ out }: CommandContext, overview: Overview): string {
  const { machinesFailed: failed, machinesWarned: warned, operationsStalled: stalled } = overview;
  const parts = [
    ...(failed > 0 ? [out.colour(`failed or blocked ${failed}`, 'red')] : []),
    ...(warned > 0 ? [out.colour(`not as it should be ${warned}`, 'orange')] : []),
    ...(stalled > 0 ? [out.colour(`operations stalled ${stalled}`, 'orange')] : []),
  ];
  return parts.join(', ') || 'none';
}

const STALLED_COLUMNS: readonly Column<StalledOperation>[] = [
  { header: 'OPERATION_ID', cell: ({ operationId }) => operationId },
  { header: 'MACHINE_ID', cell: ({ machineId }) => machineId, stays: 'longest' },
  { header: 'TYPE', cell: ({ type }) => OperationType[type] ?? '?' },
  { header: 'STEP', cell: ({ stall }) => stall?.step ?? '' },
  { header: 'WHY', cell: ({ stall }) => stall?.message ?? '', stays: 'longest' },
];

function countsText(counts: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts).map(([name, count]) => `${plainText(name)} ${count}`);
  return parts.join(', ') || '-';
}

function facetText({ values }: Facet): string {
  const parts = values.map(({ value, machines }) => `${plainText(value) || 'none'} ${machines}`);
  return parts.join(', ') || '-';
}

function attentionColumns(now: number): readonly Column<Attention>[] {
  return [
    { header: 'MACHINES', cell: ({ machines }) => String(machines) },
    { header: 'WHAT', cell: ({ title, reason }) => title || reason, stays: 'longest' },
    { header: 'CONDITION', cell: ({ condition }) => condition },
    { header: 'REASON', cell: ({ reason }) => reason },
    { header: 'NEWEST', cell: ({ newest }) => ageText(newest, now) },
    {
      header: 'EXAMPLE',
      stays: 'longest',
      cell: ({ exampleMachineId, exampleMessage }) => `${exampleMachineId}: ${exampleMessage}`,
    },
    { header: 'FILTER', cell: ({ filter }) => filter },
  ];
}

function upstreamColumns(now: number): readonly Column<UnhealthyUpstream>[] {
  return [
    { header: 'PROVIDER', cell: ({ provider }) => provider },
    { header: 'LAST_READ', cell: ({ readAt }) => (readAt ? `${ageText(readAt, now)} ago` : 'never') },
    { header: 'WHY', cell: ({ failure }) => failure },
  ];
}

const OVERDUE_COLUMNS: readonly Column<Overdue>[] = [
  { header: 'MACHINES', cell: ({ machines }) => String(machines) },
  { header: 'LAYER', cell: ({ layer }) => layer },
  { header: 'STATE', cell: ({ state }) => state, stays: 'longest' },
  {
    header: 'LIMIT',
    cell: ({ limitSeconds }) => (limitSeconds === 0n ? '' : durationText(Number(limitSeconds) * 1000)),
  },
  { header: 'WHAT_TO_DO', cell: ({ advice }) => advice, stays: 'longest' },
  { header: 'FILTER', cell: ({ filter }) => filter },
];
