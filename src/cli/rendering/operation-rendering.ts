import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import type { Approval } from '../../gen/baremetal/v2/operation_pb.ts';
import type { OperationSource } from '../operations/operation-source.ts';
import {
  OPERATION_PHASES,
  type OperationView,
  STEP_STATES,
  type StepView,
  waitedFor,
} from '../operations/operation-view.ts';
import type { Colour } from '../output/colour.ts';
import type { Rendering } from '../output/format.ts';
import { padEnd, plainText } from '../output/plain-text.ts';
import { type Column, Table } from '../output/table.ts';
import type { TextSink } from '../output/text-sink.ts';
import { ageText, durationText, instantText } from '../output/time-text.ts';

export function phaseColour({ phase }: OperationView): Colour | undefined {
  return OPERATION_PHASES[phase].colour;
}

export function elapsedMs(operation: OperationView, now: number): number | undefined {
  const start = operation.startedAt ?? operation.createdAt;
  if (start === undefined) return undefined;
  return Math.max(0, endMs(operation, now) - timestampMs(start));
}

function endMs({ finishedAt }: { finishedAt?: Timestamp | undefined }, now: number): number {
  return finishedAt === undefined ? now : timestampMs(finishedAt);
}

function durationCell(operation: OperationView, now: number): string {
  return operation.startedAt === undefined ? '' : durationText(elapsedMs(operation, now) ?? 0);
}

export function errorText({ error }: OperationView): string {
  if (error === undefined) return '';
  return error.code === '' ? error.message : `${error.message} [${error.code}]`;
}

/** The tag of a step's log lines: its kind. */
export function tagOf(operation: OperationView, stepName: string): string {
  return operation.steps.find(({ name }) => name === stepName)?.kind || stepName;
}

function currentStepText(operation: OperationView): string {
  if (operation.currentStep === '') return '';
  const index = operation.steps.findIndex(({ name }) => name === operation.currentStep);
  const percent = operation.steps[index]?.progressPercent ?? 0;
  const place = index < 0 ? '' : ` ${index + 1}/${operation.steps.length}`;
  const stalled = operation.more?.stalled ? ' (stalled)' : '';
  return `${operation.currentStep}${place}${percent > 0 ? ` ${percent}%` : ''}${stalled}`;
}

function paramsText(params: Readonly<Record<string, string>> = {}): string {
  return Object.entries(params)
    .map(([key, text]) => `${key}=${text}`)
    .join(',');
}

/** `waiting until 12:00 (rule prod)`, `approved by operator:ann`. */
function approvalText({ state, rule, expiresAt, decidedBy, comment }: Approval): string {
  const by = decidedBy === '' ? ` until ${instantText(expiresAt)}` : ` by ${decidedBy}`;
  return `${state}${by} (rule ${rule})${comment === '' ? '' : `: ${comment}`}`;
}

export function operationRendering(source: OperationSource, now: number): Rendering<OperationView> {
  const columns: readonly Column<OperationView>[] = [
    { header: source.idField.toUpperCase(), cell: ({ id }) => id },
    { header: 'MACHINE_ID', cell: ({ machineId }) => machineId, stays: 'longest' },
    { header: 'TYPE', cell: ({ type }) => type, stays: 'longest' },
    { header: 'PHASE', cell: ({ phase }) => phase, colour: phaseColour, stays: 'longest' },
    {
      header: 'STEP',
      cell: currentStepText,
      stays: 'longest',
      colour: ({ more: { stalled = '' } = {} }) => (stalled === '' ? undefined : 'orange'),
    },
    { header: 'AGE', cell: ({ createdAt }) => ageText(createdAt, now) },
    { header: 'DURATION', cell: (operation) => durationCell(operation, now) },
    { header: 'ERROR', cell: errorText, stays: 'longest' },
  ];
  const more: readonly Column<OperationView>[] = [
    { header: 'PARAMS', cell: (operation) => paramsText(operation.more?.params) },
    {
      header: 'WAITING_FOR',
      cell: (operation) => waitedFor(operation.more?.waitingFor ?? ''),
    },
  ];
  return {
    json: (operation) => operation.json(),
    name: ({ id }) => id,
    columns,
    wideColumns: [
      ...columns.slice(0, -1),
      { header: 'PROGRESS', cell: ({ progressPercent }) => `${progressPercent}%` },
      { header: 'PLAN_ID', cell: ({ planId }) => planId },
      { header: 'STARTED_BY', cell: ({ startedBy }) => startedBy },
      { header: 'REQUEST_ID', cell: ({ requestId }) => requestId },
      ...(source.noun === 'operation' ? more : []),
      ...columns.slice(-1),
    ],
  };
}

export function writeOperationDetail(
  sink: TextSink,
  source: OperationSource,
  operation: OperationView,
  now: number,
): void {
  const { more } = operation;
  // A field that the API does not have is left out; an empty field shows as a dash.
  const lines: readonly (readonly [string, string | undefined])[] = [
    [source.title, operation.id],
    ['Machine', operation.machineId],
    ['Type', operation.type],
    ['Plan', operation.planId],
    ['Rollout', more?.rolloutId || undefined],
    ['Phase', operation.phase],
    ['Status', more?.status],
    ['Current step', currentStepText(operation)],
    ['Progress', `${operation.progressPercent}%`],
    ['Stalled', more?.stalled || undefined],
    ['Waiting for', more && waitedFor(more.waitingFor)],
    ['Approval', more?.approval && approvalText(more.approval)],
    ['Cancel', operation.cancelRequested ? 'requested' : undefined],
    ['Error', errorText(operation)],
    ['Params', more && paramsText(more.params)],
    ['Request id', operation.requestId],
    ['Started by', operation.startedBy],
    ['Created', instantText(operation.createdAt)],
    ['Started', instantText(operation.startedAt)],
    ['Finished', instantText(operation.finishedAt)],
    ['Duration', durationCell(operation, now)],
  ];
  for (const [title, text] of lines) {
    if (text === undefined) continue;
    const shown = sink.colour(plainText(text) || '-', lineColour(title, operation));
    sink.line(`${padEnd(`${title}:`, 14)}${shown}`);
  }
  if (operation.steps.length === 0) return;
  sink.line('');
  new Table<StepView>(
    sink,
    [
      { header: 'STEP', cell: ({ name }) => name },
      { header: 'KIND', cell: ({ kind }) => kind },
      { header: 'STATE', cell: ({ state }) => state, stays: 'longest' },
      { header: 'PROGRESS', cell: ({ progressPercent }) => `${progressPercent}%` },
      { header: 'RETRIES', cell: retriesCell },
      { header: 'DURATION', cell: (step) => stepDuration(step, now) },
      { header: 'STARTED', cell: ({ startedAt }) => instantText(startedAt) },
      { header: 'FINISHED', cell: ({ finishedAt }) => instantText(finishedAt) },
      { header: 'MESSAGE', cell: ({ message }) => message, stays: 'longest' },
    ],
    'wrapped',
  ).write(operation.steps);
}

function lineColour(title: string, operation: OperationView): Colour | undefined {
  if (title === 'Stalled') return 'orange';
  return title === 'Phase' ? phaseColour(operation) : undefined;
}

function retriesCell({ retryCount, maxRetries }: StepView): string {
  return maxRetries === undefined ? `${retryCount}` : `${retryCount}/${maxRetries}`;
}

function stepDuration(step: StepView, now: number): string {
  return step.startedAt === undefined ? '' : durationText(endMs(step, now) - timestampMs(step.startedAt));
}

/** A mark for each step, and its retries: ✓netboot ✗repave(2) ·verify */
function stepsCell({ steps }: OperationView): string {
  return steps
    .map(({ name, state, retryCount }) => {
      return `${STEP_STATES[state].mark}${name}${retryCount > 0 ? `(${retryCount})` : ''}`;
    })
    .join(' ');
}

/** The last operations of one machine. */
export function writeHistory(sink: TextSink, operations: readonly OperationView[], now: number): void {
  new Table<OperationView>(
    sink,
    [
      { header: 'OPERATION_ID', cell: ({ id }) => id },
      { header: 'TYPE', cell: ({ type }) => type },
      { header: 'PHASE', cell: ({ phase }) => phase, colour: phaseColour, stays: 'longest' },
      { header: 'AGE', cell: ({ createdAt }) => ageText(createdAt, now) },
      { header: 'DURATION', cell: (operation) => durationCell(operation, now) },
      { header: 'STEPS', cell: stepsCell },
      { header: 'ERROR', cell: errorText, stays: 'longest' },
    ],
    'wrapped',
  ).write(operations);
}
