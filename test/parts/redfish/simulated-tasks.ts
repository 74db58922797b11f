/** The tasks of a simulated BMC: work that goes on after the answer, with a state that can be read meanwhile. */
import { until } from '../until.ts';
import type { Answer } from './simulated-noun.ts';
import type { VendorShape } from './vendor-shape.ts';

export const TASKS = '/redfish/v1/TaskService/Tasks';

export interface SimulatedTask {
  readonly id: string;
  readonly name: string;
  readonly target: string;
  state: 'Running' | 'Pending' | 'Completed' | 'Exception';
  percent: number;
  message: { readonly id: string; readonly text: string };
  readonly finish: () => void;
}

export interface TaskWork {
  readonly name: string;
  /** The request that it carries out. */
  readonly target: string;
  /** What is so when it is over. */
  readonly finish: () => void;
  /** It goes on at the next reset. */
  readonly waitsForReset?: true;
}

export class SimulatedTasks {
  readonly all: SimulatedTask[] = [];
  /** How long each takes. */
  durationMs = 40;
  retryAfterSeconds: number | null = null;
  /** Why the next one fails; null: it does not. */
  nextFails: string | null = null;
  /** The next one never ends. */
  nextHangs = false;
  /** What becomes of those that start now. */
  ends: 'well' | 'badly' | 'never' = 'well';
  readonly #timers = new Set<NodeJS.Timeout>();

  start({ name, target, finish, waitsForReset }: TaskWork): SimulatedTask {
    const task: SimulatedTask = {
      id: `JID_${this.all.length + 1}`,
      name,
      target,
      state: waitsForReset ? 'Pending' : 'Running',
      percent: 0,
      message: waitsForReset
        ? { id: 'IDRAC.2.8.JCP001', text: 'Task successfully scheduled.' }
        : { id: 'TaskEvent.1.0.TaskStarted', text: 'The task has started.' },
      finish,
    };
    this.all.push(task);
    if (!waitsForReset) this.#run(task);
    return task;
  }

  /** What waited for a reset goes on. */
  systemReset(): void {
    for (const task of this.all.filter(({ state }) => state === 'Pending')) {
      task.state = 'Running';
      this.#run(task);
    }
  }

  #run(task: SimulatedTask): void {
    const nextFails = this.ends === 'badly' ? 'The simulated task fails.' : this.nextFails;
    this.nextFails = null;
    if (this.nextHangs || this.ends === 'never') {
      this.nextHangs = false;
      task.percent = 50;
      return;
    }
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      task.percent = 100;
      if (nextFails === null) {
        task.finish();
        task.state = 'Completed';
        task.message = { id: 'TaskEvent.1.0.TaskCompletedOK', text: 'The task has completed.' };
      } else {
        task.state = 'Exception';
        task.message = { id: 'TaskEvent.1.0.TaskAborted', text: nextFails };
      }
    }, this.durationMs);
    this.#timers.add(timer);
  }

  /** Once none is running. */
  async idle(): Promise<void> {
    await until(() => !this.all.some(({ state }) => state === 'Running'));
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }
}

/** How vendors say that work goes on in a task. */
export function accepted({ id }: SimulatedTask, { taskAnswer }: VendorShape): Answer {
  const path = `${TASKS}/${id}`;
  switch (taskAnswer) {
    case 'monitor':
      return { status: 202, headers: { location: `/redfish/v1/TaskService/TaskMonitors/${id}` } };
    case 'task':
      return { status: 202, headers: { location: `https://bmc.example${path}` } };
    case 'message': {
      const info = { MessageId: 'SMC.1.0.OemSimpleupdateAcceptedMessage', MessageArgs: [path] };
      const body = { Accepted: { code: 'Base.v1_10_3.Accepted', '@Message.ExtendedInfo': [info] } };
      return { status: 202, body };
    }
    case 'nothing':
      return { status: 202 };
    case 'body':
      return {
        status: 200,
        body: { '@odata.id': path, '@odata.type': '#Task.v1_4_3.Task', Id: id, TaskState: 'Running' },
      };
  }
}
