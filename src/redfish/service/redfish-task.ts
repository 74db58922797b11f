/**
 * Work that a Redfish service does in a task of its own: it answers 202 with the address of a task monitor, which answers 202 until the
 * work is over, and then as the request itself would have answered (DSP0266). Many services name the task instead of its monitor, or
 * answer with the task; both are read here. The path is all there is to remember: with it, any replica goes on where another stopped.
 */
import type { BmcTaskState } from '../../domain/hardware/hardware-change.ts';
import { fieldsOf, linkOf, pathOf, textOf } from '../connection/answer-fields.ts';
import { extendedMessages, wordsOf } from '../connection/extended-error.ts';
import { refusal, retryAfterMs, type WireAnswer } from '../connection/redfish-wire.ts';
import type { RedfishService } from './redfish-service.ts';

/** TaskState of the schema Task, with what it means for one who waits. */
const TASK_STATES: Readonly<
  Record<string, { readonly state: BmcTaskState['state']; readonly words: string }>
> = {
  New: { state: 'running', words: 'the task has not started' },
  Starting: { state: 'running', words: 'the task is starting' },
  Running: { state: 'running', words: 'the task is running' },
  Service: { state: 'running', words: 'the task is running as a service' },
  Suspended: { state: 'running', words: 'the task is suspended' },
  Interrupted: { state: 'running', words: 'the task is interrupted' },
  Stopping: { state: 'running', words: 'the task is stopping' },
  Cancelling: { state: 'running', words: 'the task is being canceled' },
  Pending: { state: 'waits_for_reset', words: 'the task waits for a reset' },
  Completed: { state: 'done', words: 'the task is complete' },
  Killed: { state: 'failed', words: 'the task was ended' },
  Cancelled: { state: 'failed', words: 'the task was canceled' },
  Exception: { state: 'failed', words: 'the task failed' },
};

const POLL_AFTER_MS = 5_000;
const LONGEST_POLL_MS = 5 * 60_000;
const MAX_MESSAGES = 3;
const SAYS_NOTHING_OF_TASK: readonly number[] = [403, 429, 502, 503, 504];

/** The path of the task that an answer is about; null: the work is over with the answer, or (202) no task is named. */
export function taskOf(answer: WireAnswer): string | null {
  const body = fieldsOf(answer.body);
  const isTask = 'TaskState' in body || /^#Task\./.test(textOf(body['@odata.type']));
  const named = isTask ? (pathOf(textOf(body.TaskMonitor)) ?? linkOf(body)) : null;
  if (answer.status !== 202) return isTask ? named : null;
  return pathOf(answer.headers.location) ?? named ?? linkOf(body) ?? acceptedTask(body);
}

/** Supermicro answers with a message whose argument is the task: fwupd, plugins/redfish. */
function acceptedTask(body: Readonly<Record<string, unknown>>): string | null {
  const infos = fieldsOf(body.Accepted)['@Message.ExtendedInfo'];
  const args = (Array.isArray(infos) ? infos : []).flatMap((info) => fieldsOf(info).MessageArgs);
  const path = args.map(textOf).find((text) => /^\/redfish\/v1\/TaskService\//.test(text));
  return path ?? null;
}

export async function readTask(service: RedfishService, path: string): Promise<BmcTaskState> {
  const answer = await service.ask(path);
  const pollAfterMs = Math.min(
    LONGEST_POLL_MS,
    Math.max(1_000, retryAfterMs(answer.headers) ?? POLL_AFTER_MS),
  );
  const body = fieldsOf(answer.body);
  const state = textOf(body.TaskState);
  if (state !== '') {
    const { scheduledTask } = await service.quirks();
    return { ...progressOf(body, state, scheduledTask), pollAfterMs };
  }
  if (answer.status === 202)
    return { state: 'running', words: 'the task is running', percent: null, pollAfterMs };
  if (answer.status === 404 || answer.status === 410)
    return { state: 'gone', words: 'the BMC does not know the task any more', percent: null, pollAfterMs };
  // These say something of the service, and nothing of the work.
  if (SAYS_NOTHING_OF_TASK.includes(answer.status)) throw refusal(service.where, path, answer);
  const words = wordsOf(answer.messages);
  if (answer.status < 300) return { state: 'done', words, percent: 100, pollAfterMs };
  return {
    state: 'failed',
    words: words || `the task answered ${answer.status}`,
    percent: null,
    pollAfterMs,
  };
}

function progressOf(
  task: Readonly<Record<string, unknown>>,
  named: string,
  scheduled: RegExp | null,
): Omit<BmcTaskState, 'pollAfterMs'> {
  const known = TASK_STATES[named] ?? { state: 'running', words: `the task is ${named}` };
  const isCritical = textOf(task.TaskStatus) === 'Critical';
  const isScheduled = known.state === 'running' && jobWords(task).some((word) => scheduled?.test(word));
  const state =
    known.state === 'done' && isCritical ? 'failed' : isScheduled ? 'waits_for_reset' : known.state;
  const said = wordsOf(messagesOf(task));
  const { PercentComplete: percent } = task;
  return {
    state,
    words: said === '' ? known.words : `${known.words}: ${said}`,
    percent: typeof percent === 'number' && percent >= 0 && percent <= 100 ? Math.floor(percent) : null,
  };
}

/** The newest say what became of it. */
function messagesOf({ Messages: messages }: Readonly<Record<string, unknown>>) {
  const listed = Array.isArray(messages) ? messages.slice(-MAX_MESSAGES) : [];
  return extendedMessages({ '@Message.ExtendedInfo': listed });
}

/** What vendors say of the job that the task stands for, and the ids of its messages. */
function jobWords(task: Readonly<Record<string, unknown>>): string[] {
  const jobs = Object.values(fieldsOf(task.Oem)).map((oem) => textOf(fieldsOf(oem).JobState));
  return [...jobs, ...messagesOf(task).map(({ id }) => id)];
}

/** The tasks that the service works on. Null: it does not list tasks, so nothing is known of them. */
export async function runningTasks(
  service: RedfishService,
): Promise<Array<{ readonly path: string; readonly about: string }> | null> {
  const { tasks: servicePath } = await service.root();
  const found = servicePath === null ? null : await service.find(servicePath);
  const collection = found === null ? null : linkOf(found.fields.Tasks);
  if (collection === null) return null;
  const tasks = await service.resources(collection);
  return tasks
    .filter(({ fields }) => {
      const state = TASK_STATES[textOf(fields.TaskState)]?.state;
      return state === 'running' || state === 'waits_for_reset';
    })
    .map(({ path, fields }) => ({
      path,
      about: `${textOf(fieldsOf(fields.Payload).TargetUri)} ${textOf(fields.Name)} ${wordsOf(messagesOf(fields))}`,
    }));
}

/** The task that the service works on for this request; null: none, or it does not say. */
export async function runningTaskFor(service: RedfishService, target: string): Promise<string | null> {
  const tasks = (await runningTasks(service)) ?? [];
  return tasks.findLast(({ about }) => about.startsWith(`${target} `))?.path ?? null;
}
