/** Watching, and what a watch is measured by: the event log itself. */

import { type OperationEvent, OperationEvent_Kind } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { progressFromStored } from '../../src/store/operations/stored-progress.ts';
import type { TestServer } from '../parts/server.ts';
import { phaseOf } from './fleet.ts';

interface WatchRequest {
  readonly filter?: string;
  readonly cursor?: string;
  readonly sendSynced?: boolean;
}

/** Watches until it has seen enough, then hangs up. */
export async function watch(
  from: TestServer,
  request: WatchRequest,
  isEnough: (event: OperationEvent) => boolean,
  onSynced: () => unknown = () => {},
): Promise<OperationEvent[]> {
  const seen: OperationEvent[] = [];
  let work: Promise<unknown> = Promise.resolve();
  for await (const event of from.operations.watchOperations({ sendSynced: true, ...request })) {
    seen.push(event);
    if (event.kind === OperationEvent_Kind.SYNCED) {
      work = Promise.resolve(onSynced());
      // Its failure is that of the watch, below, and never one of a later test.
      work.catch(() => {});
    }
    if (isEnough(event)) break;
  }
  await work;
  return seen;
}

function isEnd({ kind, snapshot }: OperationEvent): boolean {
  return kind === OperationEvent_Kind.OPERATION && snapshot?.finishedAt !== undefined;
}

/** As soon as so many operations have ended. */
export function ends(count: number): (event: OperationEvent) => boolean {
  let left = count;
  return (event) => {
    if (isEnd(event)) left -= 1;
    return left <= 0;
  };
}

export function endsOf(operationId: string, times: number): (event: OperationEvent) => boolean {
  const isOver = ends(times);
  return (event) => event.snapshot?.operationId === operationId && isOver(event);
}

/** As soon as so many operations are known to have ended, in the first batch or after it. */
export function allEnded(count: number): (event: OperationEvent) => boolean {
  const over = new Set<string>();
  let synced = false;
  return (event) => {
    synced ||= isSynced(event);
    if (event.snapshot?.finishedAt) over.add(event.snapshot.operationId);
    return synced && over.size >= count;
  };
}

export function isSynced({ kind }: OperationEvent): boolean {
  return kind === OperationEvent_Kind.SYNCED;
}

export function ofKind(seen: readonly OperationEvent[], kind: OperationEvent_Kind): OperationEvent[] {
  return seen.filter((event) => event.kind === kind);
}

export function phasesIn(seen: readonly OperationEvent[]): string[] {
  return ofKind(seen, OperationEvent_Kind.OPERATION).map(({ snapshot }) =>
    snapshot ? phaseOf(snapshot) : '',
  );
}

/** An event, in words that the event log has too. */
export function wordsFor({ kind, snapshot, step, message }: OperationEvent): string {
  const name = OperationEvent_Kind[kind].toLowerCase();
  const steps = snapshot?.steps.map(({ state, progressPercent }) => `${state}/${progressPercent}`).join(' ');
  return `${snapshot?.operationId} ${name} ${step} ${snapshot?.status} [${steps}] ${message}`;
}

const STATE_NUMBERS = { waiting: 1, running: 2, succeeded: 3, failed: 4, undone: 20 } as const;

interface LoggedEvent {
  operation_id: string;
  kind: string;
  subject: string;
  comment: string;
  snapshot: Parameters<typeof progressFromStored>[0];
}

/** The truth that every watch is measured by. */
export async function logged(from: TestServer, where: string, values: unknown[]): Promise<string[]> {
  const rows = await from.sql<LoggedEvent>(
    `SELECT operation_id, kind, subject, comment, snapshot FROM events
     WHERE kind IN ('operation', 'step', 'progress') AND ${where} ORDER BY event_id`,
    values,
  );
  return rows.map(({ operation_id, kind, subject, comment, snapshot }) => {
    const { status, steps: progressOfSteps } = progressFromStored(snapshot);
    const steps = progressOfSteps
      .map(({ state, progress }) => `${STATE_NUMBERS[state]}/${progress}`)
      .join(' ');
    const step = kind === 'operation' ? '' : subject;
    return `${operation_id} ${kind} ${step} ${status} [${steps}] ${comment}`;
  });
}
