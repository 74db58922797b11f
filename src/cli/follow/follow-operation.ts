/** Follows one operation on both of its streams at once, and tells a display what happens, in order. */
import type { Operation } from '../../gen/baremetal/v2/operation_pb.ts';
import type { LogChunk } from '../../gen/baremetal/v2/operation_service_pb.ts';
import type { Api } from '../api.ts';
import { isFinished } from '../operation-rendering.ts';
import { plainText } from '../output/plain-text.ts';
import { pause } from './pause.ts';
import { Reconnect } from './reconnect.ts';
import { resume } from './resumable-stream.ts';
import { momentOf, StepChanges, Story, type StoryEntry } from './story.ts';
import { watchUntilFinished } from './watch-operations.ts';

export interface OperationDisplay {
  /** The operation has moved; entries about it follow when their turn has come. */
  update(operation: Operation): void;
  tell(entry: StoryEntry): void;
  /** Time has passed. */
  tick(): void;
}

export interface Following {
  readonly api: Api;
  readonly operation: Operation;
  readonly display: OperationDisplay;
  readonly signal: AbortSignal;
  readonly say: (message: string) => void;
  readonly now: () => number;
}

const TICK_MS = 100;
/** The log ends with the operation; a log that does not is not waited for much longer. */
const LAST_LINES_MS = 3_000;

/** Returns the operation as it was last seen: ended, unless the signal fired before. */
export async function followOperation(following: Following): Promise<Operation> {
  const { api, display, now, say } = following;
  const { operationId } = following.operation;
  const controller = new AbortController();
  const signal = AbortSignal.any([following.signal, controller.signal]);
  const reconnect = new Reconnect({
    probe: (probeSignal) => api.operations.getOperation({ operationId }, { signal: probeSignal }),
    say,
    address: api.address,
  });
  const story = new Story();
  const changes = new StepChanges();
  let latest = following.operation;
  const take = (operation: Operation, at: number): void => {
    latest = operation;
    display.update(operation);
    story.add(changes.since(operation, at), now());
  };
  take(latest, now());
  const timer = setInterval(() => {
    for (const entry of story.due(now())) display.tell(entry);
    display.tick();
  }, TICK_MS);
  const hear = (chunk: LogChunk): void => {
    const index = latest.steps.findIndex(({ name }) => name === chunk.step);
    const moment = { at: momentOf(chunk.ts, now()), index };
    const lines = logLines(chunk).map((text) => ({
      kind: 'log' as const,
      stepName: chunk.step,
      text,
      ...moment,
    }));
    story.add(lines, now());
  };
  const logs = followLog({ ...following, signal }, reconnect, hear);
  try {
    if (!isFinished(latest)) {
      await watchUntilFinished({
        api,
        operationIds: [operationId],
        reconnect,
        signal,
        onOperation: (operation, at) => take(operation, momentOf(at, now())),
      });
    }
    if (isFinished(latest)) await Promise.race([logs, pause(LAST_LINES_MS, signal)]);
  } finally {
    clearInterval(timer);
    controller.abort();
  }
  for (const entry of story.rest()) display.tell(entry);
  return latest;
}

/** A log that can't be had is said and done without: the outcome doesn't depend on it. */
async function followLog(
  following: Following,
  reconnect: Reconnect,
  hear: (chunk: LogChunk) => void,
): Promise<void> {
  const { api, signal, say } = following;
  const { operationId } = following.operation;
  const open = (cursor: string) => api.operations.streamOperationLogs({ operationId, cursor }, { signal });
  try {
    for await (const chunk of resume({ open, reconnect, signal, isEndless: false })) hear(chunk);
  } catch (error) {
    say(`no log: ${plainText(error instanceof Error ? error.message : String(error))}`);
  }
}

export function logLines(chunk: LogChunk): string[] {
  const lines = new TextDecoder().decode(chunk.data).split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
