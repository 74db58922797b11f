/** Images and erasures of a simulated disk. */
import type { Erasure } from '../../domain/install/erasure.ts';
import { type Erasing, type Imaging, operationOf, type ProviderCall } from '../provider.ts';
import { type FakeTask, progressOf } from './fake-state.ts';
import { FAILURE_WORDS, type FakeTasks } from './fake-tasks.ts';

export function createFakeImaging(tasks: FakeTasks): Imaging {
  return {
    async imagingState(call) {
      const state = await tasks.state(call.machine.machineId);
      const { task, ended } = state;
      if (task?.kind === 'repave') {
        const progress = progressOf(task, tasks.now());
        return { state: 'writing', key: task.key, progress, pollAfterMs: tasks.msLeft(state) };
      }
      if (ended?.kind !== 'repave') return { state: 'idle' };
      if (!ended.ok) return { state: 'failed', key: ended.key, error: FAILURE_WORDS.repave };
      return { state: 'written', key: ended.key, image: state.image };
    },
    async startImaging(call, image) {
      call.log(`Writing image ${image}`);
      await tasks.start(call, { kind: 'repave', target: image });
    },
    stopImaging: (call) => tasks.stopImaging(call),
  };
}

export function createFakeErasing(tasks: FakeTasks): Erasing {
  return {
    async erasingState(call) {
      const state = await tasks.state(call.machine.machineId);
      const { task, ended } = state;
      if (task && isErasureOf(task, call)) {
        return {
          state: 'erasing',
          key: task.key,
          isAtWork: true,
          progress: progressOf(task, tasks.now()),
          pollAfterMs: tasks.msLeft(state),
          detail: 'The simulated disk is being erased',
        };
      }
      if (!ended || !isErasureOf(ended, call)) return { state: 'idle' };
      if (!ended.ok) return { state: 'failed', key: ended.key, error: FAILURE_WORDS.erase };
      return { state: 'erased', key: ended.key, erasure: simulatedErasure(call, tasks.now()) };
    },
    async startErasing(call) {
      const { task, ended } = await tasks.state(call.machine.machineId);
      if (isErasureOf(task, call) || (isErasureOf(ended, call) && ended?.ok)) return;
      call.log('Erasing');
      await tasks.start(call, { kind: 'erase', target: '' });
    },
    async stopErasing() {
      // As with a real machine: an erasure that has started is not stopped.
    },
  };
}

function isErasureOf(task: Pick<FakeTask, 'kind' | 'key'> | null, call: ProviderCall): boolean {
  return task?.kind === 'erase' && operationOf(task) === operationOf(call);
}

function simulatedErasure(call: ProviderCall, now: number): Erasure {
  const disk = {
    name: 'sda',
    model: 'simulated',
    serial: call.machine.machineId,
    size_bytes: null,
    method: 'ata-secure-erase',
    result: 'erased',
    verified: 'nothing: the disk is simulated',
    not_done: '',
    seconds: null,
  } as const;
  return {
    outcome: 'erased',
    disks: [disk],
    skipped: [],
    at: new Date(now).toISOString(),
    operation_id: operationOf(call),
  };
}
