/** Follows one operation on its watch and its log at once, and sends a display what happens, in order. */

import { sleep } from '../../time/sleep.ts';
import type { Api } from '../connection/api.ts';
import { followStream } from '../connection/follow-stream.ts';
import { Reconnect } from '../connection/reconnect.ts';
import { plainText } from '../output/plain-text.ts';
import type { OperationSource } from './operation-source.ts';
import { isFinished, type LogChunkView, logLines, type OperationView } from './operation-view.ts';
import { CatchUp, StepChanges, serverTimeMs, Timeline, type TimelineEntry } from './timeline.ts';
import { watchUntilFinished } from './watch-until-finished.ts';

export interface OperationDisplay {
  /** The operation has changed. The entries about the change follow, in the order of the timeline. */
  update(operation: OperationView): void;
  write(entry: TimelineEntry): void;
  /** Called at a fixed interval, to redraw what depends on the time. */
  tick(): void;
}

export interface FollowSettings {
  readonly api: Api;
  readonly source: OperationSource;
  readonly operation: OperationView;
  readonly display: OperationDisplay;
  readonly signal: AbortSignal;
  /** Writes a line about the connection. */
  readonly notify: (message: string) => void;
  readonly now: () => number;
}

const TICK_MS = 100;
/** The log ends with the operation. If it does not, wait for its last lines no longer than this. */
const LAST_LINES_MS = 3_000;

/** Returns the operation as last received: finished, unless the signal fired first. */
export async function followOperation(settings: FollowSettings): Promise<OperationView> {
  const { api, source, display, now, notify } = settings;
  const { id } = settings.operation;
  const controller = new AbortController();
  const signal = AbortSignal.any([settings.signal, controller.signal]);
  const reconnect = new Reconnect({
    probe: (probeSignal) => source.get(api, id, { signal: probeSignal }),
    notify,
    address: api.address,
  });
  const progress = new Progress(display, settings.operation, now);
  const timer = setInterval(() => progress.tick(), TICK_MS);
  const logs = followLog({ ...settings, signal }, reconnect, (chunk) => progress.log(chunk));
  try {
    if (!isFinished(progress.latest)) {
      await watchUntilFinished({
        api,
        source,
        ids: [id],
        reconnect,
        signal,
        onOperation: (operation, at) => progress.update(operation, serverTimeMs(at, now())),
      });
    }
    if (isFinished(progress.latest)) await Promise.race([logs, sleep(LAST_LINES_MS, signal)]);
  } finally {
    clearInterval(timer);
    controller.abort();
  }
  progress.flush();
  return progress.latest;
}

/** Merges both streams into the timeline, and writes each entry when it is due. */
class Progress {
  latest: OperationView;
  readonly #display: OperationDisplay;
  readonly #now: () => number;
  readonly #timeline = new Timeline();
  readonly #changes = new StepChanges();
  readonly #catchUp: CatchUp;

  constructor(display: OperationDisplay, operation: OperationView, now: () => number) {
    this.#display = display;
    this.#now = now;
    this.latest = operation;
    this.#catchUp = new CatchUp(now());
    this.#add(operation, now());
    if (isFinished(operation)) this.#catchUp.watchReceived(operation);
  }

  update(operation: OperationView, at: number): void {
    this.#catchUp.watchReceived(operation);
    this.#add(operation, at);
  }

  log(chunk: LogChunkView): void {
    const now = this.#now();
    const position = {
      at: serverTimeMs(chunk.ts, now),
      index: this.latest.steps.findIndex(({ name }) => name === chunk.step),
    };
    const lines = logLines(chunk).map((text) => ({
      kind: 'log' as const,
      stepName: chunk.step,
      text,
      ...position,
    }));
    this.#timeline.add(lines, now);
    this.#catchUp.logReceived(now);
  }

  tick(): void {
    const now = this.#now();
    if (this.#catchUp.isOver(now))
      for (const entry of this.#timeline.takeDue(now)) this.#display.write(entry);
    this.#display.tick();
  }

  flush(): void {
    for (const entry of this.#timeline.takeAll()) this.#display.write(entry);
  }

  #add(operation: OperationView, at: number): void {
    this.latest = operation;
    this.#display.update(operation);
    this.#timeline.add(this.#changes.since(operation, at), this.#now());
  }
}

/** A log that can't be read costs one line: the outcome does not depend on it. */
async function followLog(
  { api, source, signal, notify, operation: { id } }: FollowSettings,
  reconnect: Reconnect,
  onChunk: (chunk: LogChunkView) => void,
): Promise<void> {
  const open = (cursor: string, connection: AbortSignal) =>
    source.logs(api, { id, cursor }, { signal: connection });
  try {
    for await (const chunk of followStream({ open, reconnect, signal, whenClosed: 'over' })) onChunk(chunk);
  } catch (error) {
    notify(`no log: ${plainText(error instanceof Error ? error.message : String(error))}`);
  }
}
