import { timestampMs } from '@bufbuild/protobuf/wkt';
import {
  type Operation,
  Operation_Phase,
  OperationSchema,
  OperationType,
  type StepStatus,
  StepStatus_State,
} from '../gen/baremetal/v2/operation_pb.ts';
import type { Colour } from './output/colour.ts';
import type { Rendering } from './output/format.ts';
import { padEnd, plainText } from './output/plain-text.ts';
import { type Column, Table } from './output/table.ts';
import type { TextSink } from './output/text-sink.ts';
import { ageText, durationText, instantText } from './output/time-text.ts';

export function typeOf(operation: Operation): string {
  return OperationType[operation.type] ?? '?';
}

export function phaseOf(operation: Operation): string {
  return Operation_Phase[operation.phase] ?? '?';
}

export function isFinished({ phase }: Operation): boolean {
  return (
    phase === Operation_Phase.SUCCEEDED ||
    phase === Operation_Phase.FAILED ||
    phase === Operation_Phase.CANCELED
  );
}

const PHASE_COLOURS: Partial<Record<Operation_Phase, Colour>> = {
  [Operation_Phase.RUNNING]: 'blue',
  [Operation_Phase.SUCCEEDED]: 'green',
  [Operation_Phase.FAILED]: 'red',
  [Operation_Phase.CANCELED]: 'yellow',
};

export function phaseColour({ phase }: Operation): Colour | undefined {
  return PHASE_COLOURS[phase];
}

export function elapsedMs(operation: Operation, now: number): number | undefined {
  const start = operation.startedAt ?? operation.createdAt;
  if (start === undefined) return undefined;
  const end = operation.finishedAt === undefined ? now : timestampMs(operation.finishedAt);
  return Math.max(0, end - timestampMs(start));
}

export function errorText({ error }: Operation): string {
  if (error === undefined) return '';
  return error.code === '' ? error.message : `${error.message} [${error.code}]`;
}

/** What the step is called where a line is tagged with it: its kind, as the design document draws it. */
export function tagOf(operation: Operation, stepName: string): string {
  return operation.steps.find(({ name }) => name === stepName)?.kind || stepName;
}

export function titleOf(step: StepStatus): string {
  return step.title || step.name;
}

function stepCell(operation: Operation): string {
  if (operation.currentStep === '') return '';
  const index = operation.steps.findIndex(({ name }) => name === operation.currentStep);
  const percent = operation.steps[index]?.progressPercent ?? 0;
  const place = index < 0 ? '' : ` ${index + 1}/${operation.steps.length}`;
  return `${operation.currentStep}${place}${percent > 0 ? ` ${percent}%` : ''}`;
}

export function operationRendering(now: number): Rendering<typeof OperationSchema> {
  const duration = (operation: Operation): string => {
    if (operation.startedAt === undefined) return '';
    return durationText(elapsedMs(operation, now) ?? 0);
  };
  const columns: readonly Column<Operation>[] = [
    { header: 'OPERATION_ID', cell: (operation) => operation.operationId },
    { header: 'MACHINE_ID', cell: (operation) => operation.machineId },
    { header: 'TYPE', cell: typeOf },
    { header: 'PHASE', cell: phaseOf, colour: phaseColour },
    { header: 'STEP', cell: stepCell },
    { header: 'AGE', cell: (operation) => ageText(operation.createdAt, now) },
    { header: 'DURATION', cell: duration },
    { header: 'ERROR', cell: errorText },
  ];
  return {
    schema: OperationSchema,
    name: (operation) => operation.operationId,
    columns,
    wideColumns: [
      ...columns.slice(0, -1),
      { header: 'PROGRESS', cell: (operation) => `${operation.progressPercent}%` },
      { header: 'STARTED_BY', cell: (operation) => operation.startedBy },
      { header: 'REQUEST_ID', cell: (operation) => operation.requestId },
      { header: 'PARAMS', cell: paramsText },
      { header: 'WAITING_FOR', cell: (operation) => operation.waitingFor },
      ...columns.slice(-1),
    ],
  };
}

function paramsText(operation: Operation): string {
  return Object.entries(operation.params)
    .map(([key, text]) => `${key}=${text}`)
    .join(',');
}

export function writeOperationDetail(sink: TextSink, operation: Operation, now: number): void {
  const elapsed = operation.startedAt === undefined ? undefined : elapsedMs(operation, now);
  const lines: readonly (readonly [string, string])[] = [
    ['Operation', operation.operationId],
    ['Machine', operation.machineId],
    ['Type', typeOf(operation)],
    ['Phase', phaseOf(operation)],
    ['Status', operation.status],
    ['Progress', `${operation.progressPercent}%`],
    ['Waiting for', operation.waitingFor],
    ['Error', errorText(operation)],
    ['Params', paramsText(operation)],
    ['Request id', operation.requestId],
    ['Started by', operation.startedBy],
    ['Created', instantText(operation.createdAt)],
    ['Started', instantText(operation.startedAt)],
    ['Finished', instantText(operation.finishedAt)],
    ['Duration', elapsed === undefined ? '' : durationText(elapsed)],
  ];
  for (const [title, text] of lines) {
    const shown = plainText(text) || '-';
    sink.line(
      `${padEnd(`${title}:`, 14)}${sink.colour(shown, title === 'Phase' ? phaseColour(operation) : undefined)}`,
    );
  }
  if (operation.steps.length === 0) return;
  sink.line('');
  new Table<StepStatus>(sink, [
    { header: 'STEP', cell: ({ name }) => name },
    { header: 'KIND', cell: ({ kind }) => kind },
    { header: 'STATE', cell: ({ state }) => StepStatus_State[state] ?? '?' },
    { header: 'PROGRESS', cell: ({ progressPercent }) => `${progressPercent}%` },
    { header: 'RETRIES', cell: ({ retryCount, maxRetries }) => `${retryCount}/${maxRetries}` },
    { header: 'DURATION', cell: (step) => stepDuration(step, now) },
    { header: 'MESSAGE', cell: ({ message }) => message },
  ]).write(operation.steps);
}

function stepDuration({ startedAt, finishedAt }: StepStatus, now: number): string {
  if (startedAt === undefined) return '';
  return durationText((finishedAt === undefined ? now : timestampMs(finishedAt)) - timestampMs(startedAt));
}
