import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import type { Colour } from './output/colour.ts';
import type { Rendering } from './output/format.ts';
import { padEnd, plainText } from './output/plain-text.ts';
import { type Column, Table } from './output/table.ts';
import type { TextSink } from './output/text-sink.ts';
import { ageText, durationText, instantText } from './output/time-text.ts';
import { STEP_STATES, WORK_PHASES, type Work, type WorkApi, type WorkStep } from './work/work.ts';

export function phaseColour({ phase }: Work): Colour | undefined {
  return WORK_PHASES[phase].colour;
}

export function elapsedMs(work: Work, now: number): number | undefined {
  const start = work.startedAt ?? work.createdAt;
  if (start === undefined) return undefined;
  return Math.max(0, endMs(work, now) - timestampMs(start));
}

function endMs({ finishedAt }: { finishedAt?: Timestamp | undefined }, now: number): number {
  return finishedAt === undefined ? now : timestampMs(finishedAt);
}

function durationCell(work: Work, now: number): string {
  return work.startedAt === undefined ? '' : durationText(elapsedMs(work, now) ?? 0);
}

export function errorText({ error }: Work): string {
  if (error === undefined) return '';
  return error.code === '' ? error.message : `${error.message} [${error.code}]`;
}

/** What the step is called where a line is tagged with it: its kind, as the design document draws it. */
export function tagOf(work: Work, stepName: string): string {
  return work.steps.find(({ name }) => name === stepName)?.kind || stepName;
}

function currentStepText(work: Work): string {
  if (work.currentStep === '') return '';
  const index = work.steps.findIndex(({ name }) => name === work.currentStep);
  const percent = work.steps[index]?.progressPercent ?? 0;
  const place = index < 0 ? '' : ` ${index + 1}/${work.steps.length}`;
  return `${work.currentStep}${place}${percent > 0 ? ` ${percent}%` : ''}`;
}

function paramsText(params: Readonly<Record<string, string>> = {}): string {
  return Object.entries(params)
    .map(([key, text]) => `${key}=${text}`)
    .join(',');
}

export function workRendering(source: WorkApi, now: number): Rendering<Work> {
  const columns: readonly Column<Work>[] = [
    { header: source.idField.toUpperCase(), cell: ({ id }) => id },
    { header: 'MACHINE_ID', cell: ({ machineId }) => machineId },
    { header: 'TYPE', cell: ({ type }) => type },
    { header: 'PHASE', cell: ({ phase }) => phase, colour: phaseColour },
    { header: 'STEP', cell: currentStepText },
    { header: 'AGE', cell: ({ createdAt }) => ageText(createdAt, now) },
    { header: 'DURATION', cell: (work) => durationCell(work, now) },
    { header: 'ERROR', cell: errorText },
  ];
  const more: readonly Column<Work>[] = [
    { header: 'PARAMS', cell: (work) => paramsText(work.more?.params) },
    { header: 'WAITING_FOR', cell: (work) => work.more?.waitingFor ?? '' },
  ];
  return {
    json: (work) => work.json(),
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

export function writeWorkDetail(sink: TextSink, source: WorkApi, work: Work, now: number): void {
  const { more } = work;
  // What an API does not tell is left out; what it tells and is empty shows as a dash.
  const lines: readonly (readonly [string, string | undefined])[] = [
    [source.title, work.id],
    ['Machine', work.machineId],
    ['Type', work.type],
    ['Plan', work.planId],
    ['Phase', work.phase],
    ['Status', more?.status],
    ['Current step', currentStepText(work)],
    ['Progress', `${work.progressPercent}%`],
    ['Waiting for', more?.waitingFor],
    ['Cancel', work.cancelRequested ? 'requested' : undefined],
    ['Error', errorText(work)],
    ['Params', more && paramsText(more.params)],
    ['Request id', work.requestId],
    ['Started by', work.startedBy],
    ['Created', instantText(work.createdAt)],
    ['Started', instantText(work.startedAt)],
    ['Finished', instantText(work.finishedAt)],
    ['Duration', durationCell(work, now)],
  ];
  for (const [title, text] of lines) {
    if (text === undefined) continue;
    const shown = sink.colour(plainText(text) || '-', title === 'Phase' ? phaseColour(work) : undefined);
    sink.line(`${padEnd(`${title}:`, 14)}${shown}`);
  }
  if (work.steps.length === 0) return;
  sink.line('');
  new Table<WorkStep>(sink, [
    { header: 'STEP', cell: ({ name }) => name },
    { header: 'KIND', cell: ({ kind }) => kind },
    { header: 'STATE', cell: ({ state }) => state },
    { header: 'PROGRESS', cell: ({ progressPercent }) => `${progressPercent}%` },
    { header: 'RETRIES', cell: retriesCell },
    { header: 'DURATION', cell: (step) => stepDuration(step, now) },
    { header: 'STARTED', cell: ({ startedAt }) => instantText(startedAt) },
    { header: 'FINISHED', cell: ({ finishedAt }) => instantText(finishedAt) },
    { header: 'MESSAGE', cell: ({ message }) => message },
  ]).write(work.steps);
}

function retriesCell({ retryCount, maxRetries }: WorkStep): string {
  return maxRetries === undefined ? `${retryCount}` : `${retryCount}/${maxRetries}`;
}

function stepDuration(step: WorkStep, now: number): string {
  return step.startedAt === undefined ? '' : durationText(endMs(step, now) - timestampMs(step.startedAt));
}

/** A mark for each step, and how often one was tried again: ✓netboot ✗repave(2) ·verify */
function stepsCell({ steps }: Work): string {
  return steps
    .map(({ name, state, retryCount }) => {
      return `${STEP_STATES[state].mark}${name}${retryCount > 0 ? `(${retryCount})` : ''}`;
    })
    .join(' ');
}

/** The operations of one machine, below what is told of it. */
export function writeHistory(sink: TextSink, works: readonly Work[], now: number): void {
  new Table<Work>(sink, [
    { header: 'OPERATION_ID', cell: ({ id }) => id },
    { header: 'TYPE', cell: ({ type }) => type },
    { header: 'PHASE', cell: ({ phase }) => phase, colour: phaseColour },
    { header: 'AGE', cell: ({ createdAt }) => ageText(createdAt, now) },
    { header: 'DURATION', cell: (work) => durationCell(work, now) },
    { header: 'STEPS', cell: stepsCell },
    { header: 'ERROR', cell: errorText },
  ]).write(works);
}
