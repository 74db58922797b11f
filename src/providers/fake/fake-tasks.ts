/** Tasks of simulated machines: how one is started, what it does when its holder is a stale one, and how it is waited for. */
import type { Labels } from '../../domain/machine/machine.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import { sleep } from '../../time/sleep.ts';
import { operationOf, type ProviderCall } from '../provider.ts';
import { FAKE_LABELS, failuresWanted, hangs, stepDurationMs } from './fake-labels.ts';
import { type FakeState, type FakeStepKind, type FakeTask, settle } from './fake-state.ts';

/** Where simulated machines are kept. `update` runs `change` on a state that no one else changes at the same time. */
export interface FakeWorld {
  read(machineId: string): Promise<FakeState>;
  update(machineId: string, change: (state: FakeState) => FakeState): Promise<FakeState>;
}

export type FakeWork = Pick<FakeTask, 'kind' | 'target' | 'netbootImage'>;

export const FAILURE_WORDS = {
  netboot: 'the PXE service refused the entry',
  reboot: 'the BMC did not answer the reset command',
  repave: 'the image could not be written: I/O error on /dev/sda',
  erase: 'the disk could not be erased: I/O error on /dev/sda',
  join: 'SSH connection refused',
  shutdown: 'the operating system did not go down',
  exec: 'SSH connection refused',
  cordon: 'the cluster did not take the change',
  drain: 'the workloads did not leave',
  uncordon: 'the cluster did not take the change',
  media: 'the BMC could not fetch the image',
  bios: 'the BMC refused the settings',
  'boot-order': 'the BMC refused the boot order',
  firmware: 'the image could not be written',
  volume: 'the controller refused the volume',
  'drive-erase': 'the drive could not be erased',
  'burn-in': 'memory (copy 7 of 64 of a block of 16 MiB has changed)',
  bmc: 'the BMC refused the command',
  verify: 'the node is NotReady',
} as const satisfies Record<FakeStepKind, string>;

export class FakeTasks {
  readonly world: FakeWorld;
  readonly now: () => number;

  constructor(world: FakeWorld, now: () => number) {
    this.world = world;
    this.now = now;
  }

  async state(machineId: string): Promise<FakeState> {
    return settle(await this.world.read(machineId), this.now());
  }

  /** Throws where this call's own task has failed. */
  async observe(call: ProviderCall): Promise<FakeState> {
    const state = await this.state(call.machine.machineId);
    throwIfFailed(state, call);
    return state;
  }

  /** Starts a task unless this very one is under way or over. */
  async start(call: ProviderCall, work: FakeWork): Promise<void> {
    await this.#change(call, (state) => begin(state, call, work, this.now()));
  }

  /** Starts a task and waits for its end, as a command on a host would. */
  async run(call: ProviderCall, work: FakeWork): Promise<void> {
    await this.start(call, work);
    for (;;) {
      const state = await this.observe(call);
      if (state.task?.key !== call.key) return;
      await pause(this.msLeft(state), call.signal);
    }
  }

  async stopImaging(call: ProviderCall): Promise<void> {
    await this.#change(call, (state) => stop(state, call));
  }

  async stopBurnIn(call: ProviderCall): Promise<void> {
    await this.#change(call, (state) => {
      const { task } = state;
      const isOurs = task?.kind === 'burn-in' && operationOf(task) === operationOf(call);
      return isOurs ? { ...state, task: null, ended: { key: task.key, kind: 'burn-in', ok: false } } : state;
    });
  }

  async countFailure({ machine }: ProviderCall): Promise<void> {
    await this.world.update(machine.machineId, (before) => countFailure(before, machine.labels));
  }

  /** In a few polls, so that progress can be seen, but never busily. */
  msLeft(state: FakeState): number {
    if (!state.task) return 0;
    if (state.task.outcome === 'hang') return 60_000;
    const { startedAt, durationMs } = state.task;
    return Math.max(1, Math.min(startedAt + durationMs - this.now(), Math.max(20, durationMs / 5)));
  }

  async #change(call: ProviderCall, change: (state: FakeState) => FakeState): Promise<void> {
    call.signal.throwIfAborted();
    await this.world.update(call.machine.machineId, (before) =>
      change(fenced(settle(before, this.now()), call)),
    );
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, signal);
  signal.throwIfAborted();
}

/** Several tasks of one attempt: off and on, cordon and drain. */
export function taskCall(call: ProviderCall, task: string): ProviderCall {
  const [operation, step, attempt] = call.key.split('/');
  return { ...call, key: `${operation}/${step}-${task}/${attempt}` };
}

function isUndo(call: ProviderCall): boolean {
  return /\/undo-\d+$/.test(call.key);
}

/** Remembers the holder, and counts effects of a holder after a later one acted. */
function fenced(state: FakeState, call: ProviderCall): FakeState {
  call.checkHeld();
  const operation = operationOf(call);
  const highest = state.fence.operation === operation ? state.fence.highest : 0;
  const stale = call.fence < highest ? 1 : 0;
  return {
    ...state,
    fence: { operation, highest: Math.max(highest, call.fence) },
    staleEffects: state.staleEffects + stale,
  };
}

function begin(state: FakeState, call: ProviderCall, work: FakeWork, now: number): FakeState {
  if (state.task?.key === call.key || state.ended?.key === call.key) return state;
  // The labels do not steer an undo: a canceled operation comes to its end.
  const labels = isUndo(call) ? {} : call.machine.labels;
  const fails = countFailures(state, labels) < failuresWanted(labels, call.step, work.kind);
  const outcome = fails ? 'fail' : hangs(labels, call.step, work.kind) ? 'hang' : 'ok';
  const task = {
    key: call.key,
    ...work,
    startedAt: now,
    durationMs: stepDurationMs(call.machine.labels, work.kind),
    outcome,
  } as const;
  return { ...(fails ? countFailure(state, labels) : state), task };
}

/** Each value of the label has a count of its own. */
export function countFailures(state: FakeState, labels: Labels): number {
  return state.failures[labels[FAKE_LABELS.failStep] ?? ''] ?? 0;
}

function countFailure(state: FakeState, labels: Labels): FakeState {
  const label = labels[FAKE_LABELS.failStep] ?? '';
  return { ...state, failures: { ...state.failures, [label]: countFailures(state, labels) + 1 } };
}

/** A half-written disk holds no image. */
function stop(state: FakeState, call: ProviderCall): FakeState {
  const { task } = state;
  if (task?.kind !== 'repave' || !task.key.startsWith(`${operationOf(call)}/`)) return state;
  return { ...state, task: null, image: '', ended: { key: task.key, kind: 'repave', ok: false } };
}

function throwIfFailed(state: FakeState, call: ProviderCall): void {
  if (state.ended?.key !== call.key || state.ended.ok) return;
  throw new StepFailure({
    class: 'retryable',
    code: 'EXECUTION_FAILED',
    message: FAILURE_WORDS[state.ended.kind],
  });
}
