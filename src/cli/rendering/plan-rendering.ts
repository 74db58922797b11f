import { toJson } from '@bufbuild/protobuf';
import { type Plan, PlanSchema, type Step, StepSchema } from '../../gen/baremetal/v1/plan_pb.ts';
import type { Rendering } from '../output/format.ts';
import { displayWidth, padEnd, plainText } from '../output/plain-text.ts';
import type { Column } from '../output/table.ts';
import type { TextSink } from '../output/text-sink.ts';
import { yamlText } from '../output/yaml-text.ts';

const COLUMNS: readonly Column<Plan>[] = [
  { header: 'PLAN_ID', cell: ({ planId }) => planId },
  { header: 'DISPLAY_NAME', cell: ({ displayName }) => displayName },
  { header: 'STEPS', cell: ({ steps }) => String(steps.length) },
  { header: 'DEFAULT_FOR', cell: ({ defaultFor }) => defaultFor },
];

export const PLANS: Rendering<Plan> = {
  // As in a plan file, without empty fields, so that the output can be edited and stored.
  json: (plan) => toJson(PlanSchema, plan, { useProtoFieldName: true }),
  name: ({ planId }) => planId,
  columns: COLUMNS,
  wideColumns: [
    ...COLUMNS,
    { header: 'STEP_NAMES', cell: ({ steps }) => steps.map(({ name }) => name).join(' → ') },
  ],
};

export function writePlanDetail(sink: TextSink, plan: Plan): void {
  const lines = [
    ['Plan', plan.planId],
    ['Display name', plan.displayName],
    ['Default for', plan.defaultFor],
  ] as const;
  for (const [title, text] of lines) sink.line(`${padEnd(`${title}:`, 14)}${plainText(text) || '-'}`);
  const rows = plan.steps.map(stepCells);
  const widths = [0, 1, 2, 3].map((i) => Math.max(...rows.map((cells) => displayWidth(cells[i] ?? ''))));
  for (const [index, step] of plan.steps.entries()) {
    const cells = (rows[index] ?? []).map((cell, i) => padEnd(cell, widths[i] ?? 0));
    sink.line('');
    sink.line(cells.join('  ').trimEnd());
    for (const line of configLines(step)) sink.line(`   ${line}`);
  }
}

function stepCells(step: Step, index: number): string[] {
  const { name, kind, timeoutSeconds, maxRetries } = step;
  const retries = maxRetries === undefined ? '' : `retries ${maxRetries}`;
  return [`${index + 1}. ${plainText(name)}`, kind.case ?? '?', `timeout ${timeoutSeconds}s`, retries];
}

/** The configuration of the step, as in a plan file. */
function configLines(step: Step): string[] {
  const json = toJson(StepSchema, step, { useProtoFieldName: true }) as Record<string, unknown>;
  const config = (json[step.kind.case ?? ''] ?? {}) as object;
  return Object.keys(config).length === 0 ? [] : yamlText(config).trimEnd().split('\n');
}
