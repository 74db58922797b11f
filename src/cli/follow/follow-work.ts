/** Follows one operation or run on both of its streams at once, and tells a display what happens, in order. */
import type { Api } from '../api.ts';
import { plainText } from '../output/plain-text.ts';
import { isFinished, type Work, type WorkApi, type WorkLog } from '../work/work.ts';
import { pause } from './pause.ts';
import { Reconnect } from './reconnect.ts';
import { resume } from './resumable-stream.ts';
import { CatchingUp, momentOf, StepChanges, Story, type StoryEntry } from './story.ts';
import { watchUntilFinished } from './watch-work.ts';

export interface WorkDisplay {
  /** The work has moved; entries about it follow when their turn has come. */
  update(work: Work): void;
  tell(entry: StoryEntry): void;
  /** Time has passed. */
  tick(): void;
}

export interface Following {
  readonly api: Api;
  readonly source: WorkApi;
  readonly work: Work;
  readonly display: WorkDisplay;
  readonly signal: AbortSignal;
  readonly say: (message: string) => void;
  readonly now: () => number;
}

const TICK_MS = 100;
/** The log ends with the work; a log that does not is not waited for much longer. */
const LAST_LINES_MS = 3_000;

/** Returns the work as it was last seen: ended, unless the signal fired before. */
export async function followWork(following: Following): Promise<Work> {
  const { api, source, display, now, say } = following;
  const { id } = following.work;
  const controller = new AbortController();
  const signal = AbortSignal.any([following.signal, controller.signal]);
  const reconnect = new Reconnect({
    probe: (probeSignal) => source.get(api, id, { signal: probeSignal }),
    say,
    address: api.address,
  });
  const story = new Story();
  const changes = new StepChanges();
  let latest = following.work;
  const take = (work: Work, at: number): void => {
    latest = work;
    display.update(work);
    story.add(changes.since(work, at), now());
  };
  take(latest, now());
  const catchingUp = new CatchingUp(now());
  if (isFinished(latest)) catchingUp.see(latest);
  const timer = setInterval(() => {
    if (catchingUp.isOver(now())) for (const entry of story.due(now())) display.tell(entry);
    display.tick();
  }, TICK_MS);
  const hear = (chunk: WorkLog): void => {
    const index = latest.steps.findIndex(({ name }) => name === chunk.step);
    const moment = { at: momentOf(chunk.ts, now()), index };
    const lines = logLines(chunk).map((text) => ({
      kind: 'log' as const,
      stepName: chunk.step,
      text,
      ...moment,
    }));
    story.add(lines, now());
    catchingUp.hear(now());
  };
  const logs = followLog({ ...following, signal }, reconnect, hear);
  try {
    if (!isFinished(latest)) {
      await watchUntilFinished({
        api,
        source,
        ids: [id],
        reconnect,
        signal,
        onWork: (work, at) => {
          catchingUp.see(work);
          take(work, momentOf(at, now()));
        },
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
  hear: (chunk: WorkLog) => void,
): Promise<void> {
  const { api, source, signal, say } = following;
  const { id } = following.work;
  const open = (cursor: string) => source.logs(api, { id, cursor }, { signal });
  try {
    for await (const chunk of resume({ open, reconnect, signal, isEndless: false })) hear(chunk);
  } catch (error) {
    say(`no log: ${plainText(error instanceof Error ? error.message : String(error))}`);
  }
}

export function logLines(chunk: Pick<WorkLog, 'data'>): string[] {
  const lines = new TextDecoder().decode(chunk.data).split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
