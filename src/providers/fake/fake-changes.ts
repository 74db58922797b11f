/** Changes of the hardware of simulated machines: settings wait for the next boot, a boot order counts at once. */
import type { BmcTaskState, VolumeRequest } from '../../domain/hardware/hardware-change.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import type { SettingsControl } from '../hardware-changes.ts';
import { type Capabilities, operationOf, type ProviderCall } from '../provider.ts';
import { fakeHardware } from './fake-hardware.ts';
import { type FakeTask, progressOf } from './fake-state.ts';
import { type FakeTasks, taskCall } from './fake-tasks.ts';

type FakeChanges = Pick<Capabilities, 'bios' | 'bootOrder' | 'firmware' | 'volumes' | 'drives' | 'burnIn'>;

export function createFakeChanges(tasks: FakeTasks): FakeChanges {
  return {
    bios: createFakeBios(tasks),
    bootOrder: createFakeBootOrder(tasks),
    firmware: createFakeFirmware(tasks),
    volumes: createFakeVolumes(tasks),
    drives: createFakeDrives(tasks),
    burnIn: createFakeBurnIn(tasks),
  };
}

/** What it says of its own work, whatever it is called: there is one task at a time. */
function taskStateOf(tasks: FakeTasks): SettingsControl<unknown>['taskState'] {
  return async (call): Promise<BmcTaskState> => {
    const state = await tasks.observe(call);
    const isRunning = state.task !== null;
    return {
      state: isRunning ? 'running' : 'done',
      words: isRunning ? 'the task is running' : 'the task is complete',
      percent: null,
      pollAfterMs: tasks.msLeft(state),
    };
  };
}

function refused(what: string, names: readonly string[]): StepFailure {
  return new StepFailure({
    class: 'permanent',
    code: 'SETTINGS_REFUSED',
    message: `the simulated machine has no ${what} ${names.join(', ')}`,
  });
}

function createFakeBios(tasks: FakeTasks): Capabilities['bios'] {
  return {
    taskState: taskStateOf(tasks),
    async compare(call, request) {
      const state = await tasks.observe(call);
      const unknown = Object.keys(request).filter((name) => !Object.hasOwn(state.bios, name));
      if (unknown.length > 0) throw refused('BIOS attribute', unknown);
      if (state.task?.kind === 'bios') return { state: 'changing', pollAfterMs: tasks.msLeft(state) };
      const differing = Object.entries(request).filter(([name, value]) => state.bios[name] !== value);
      if (differing.length === 0) return { state: 'as_wanted', message: 'the BIOS settings are as wanted' };
      if (differing.every(([name, value]) => state.biosPending[name] === value))
        return { state: 'staged', message: 'they wait for the next reset' };
      const differences = differing.map(([name, value]) => `${name} is ${state.bios[name]}, wanted ${value}`);
      return { state: 'differs', differences, lastMessage: '' };
    },
    async stage(call, request) {
      await tasks.start(call, { kind: 'bios', target: JSON.stringify(request) });
      return { task: null };
    },
  };
}

function createFakeBootOrder(tasks: FakeTasks): Capabilities['bootOrder'] {
  const wanted = (request: readonly string[], current: readonly string[]) => {
    const unknown = request.filter((option) => !current.includes(option));
    if (unknown.length > 0) throw refused('boot option', unknown);
    return [...new Set([...request, ...current])];
  };
  return {
    taskState: taskStateOf(tasks),
    async compare(call, request) {
      const state = await tasks.observe(call);
      const order = wanted(request, state.bootOrder);
      if (state.task?.kind === 'boot-order') return { state: 'changing', pollAfterMs: tasks.msLeft(state) };
      if (order.join() === state.bootOrder.join())
        return { state: 'as_wanted', message: `boots from ${order.join(', ')}` };
      const difference = `the boot order is ${state.bootOrder.join(', ')}, wanted ${order.join(', ')}`;
      return { state: 'differs', differences: [difference], lastMessage: '' };
    },
    async stage(call, request) {
      const { bootOrder } = await tasks.state(call.machine.machineId);
      const target = JSON.stringify(wanted(request, bootOrder));
      await tasks.start(call, { kind: 'boot-order', target });
      return { task: null };
    },
  };
}

function createFakeFirmware(tasks: FakeTasks): Capabilities['firmware'] {
  return {
    taskState: taskStateOf(tasks),
    async compare(call, { component, version }) {
      const state = await tasks.observe(call);
      const found = state.firmware[component];
      if (found === undefined) throw refused('firmware of', [component]);
      if (found === version) return { state: 'as_wanted', message: `${component} has version ${version}` };
      if (state.task?.kind === 'firmware') return { state: 'updating', pollAfterMs: tasks.msLeft(state) };
      return { state: 'differs', found };
    },
    async update(call, { component, version }) {
      call.log(`Updating ${component} to ${version}`);
      await tasks.start(call, { kind: 'firmware', target: JSON.stringify({ [component]: version }) });
      return { task: 'firmware' };
    },
    async findUpdate(call) {
      const { task } = await tasks.state(call.machine.machineId);
      return { task: task?.kind === 'firmware' ? 'firmware' : null };
    },
  };
}

function createFakeVolumes(tasks: FakeTasks): Capabilities['volumes'] {
  return {
    taskState: taskStateOf(tasks),
    async compare(call, { volumes, destroy_existing: destroys }) {
      const state = await tasks.observe(call);
      if (state.task?.kind === 'volume')
        return { state: 'changing', words: 'a volume is being changed', pollAfterMs: tasks.msLeft(state) };
      const isAmong = (all: readonly VolumeRequest[], { name }: VolumeRequest) =>
        all.some((one) => one.name === name);
      const other = destroys ? state.volumes.find((volume) => !isAmong(volumes, volume)) : undefined;
      if (other) return { state: 'differs', next: { kind: 'delete', path: other.name, name: other.name } };
      const missing = volumes.find((volume) => !isAmong(state.volumes, volume));
      if (missing) return { state: 'differs', next: { kind: 'create', volume: missing } };
      return { state: 'as_wanted', message: 'the volumes are as wanted' };
    },
    async change(call, _request, change) {
      const name = change.kind === 'create' ? change.volume.name : change.name;
      await tasks.start(taskCall(call, `${change.kind}-${name}`), {
        kind: 'volume',
        target: JSON.stringify(change),
      });
      return { task: null };
    },
  };
}

function createFakeDrives(tasks: FakeTasks): Capabilities['drives'] {
  return {
    taskState: taskStateOf(tasks),
    list: async ({ machine: { machineId } }) => [
      {
        path: 'sda',
        name: 'sda',
        model: 'simulated',
        serial: machineId,
        size_bytes: null,
        method: 'bmc-secure-erase',
      },
    ],
    async erase(call, path) {
      await tasks.start(call, { kind: 'drive-erase', target: path });
      return { task: 'drive-erase' };
    },
    async findErasure(call) {
      const { task } = await tasks.state(call.machine.machineId);
      return task?.kind === 'drive-erase' ? 'drive-erase' : null;
    },
  };
}

function createFakeBurnIn(tasks: FakeTasks): Capabilities['burnIn'] {
  const isOf = (task: Pick<FakeTask, 'kind' | 'key'> | null, call: ProviderCall) =>
    task?.kind === 'burn-in' && task.key === call.key;
  return {
    async state(call) {
      const state = await tasks.state(call.machine.machineId);
      const { task, ended } = state;
      const isRunning = isOf(task, call);
      if (!isRunning && !isOf(ended, call)) return null;
      const hasPassed = ended?.ok === true;
      const result = {
        test: 'cpu',
        part: hasPassed ? '2 processors' : 'processor 1',
        result: hasPassed ? 'passed' : 'failed',
        detail: 'simulated',
        seconds: 0,
      } as const;
      const at = new Date(tasks.now());
      return {
        machineId: call.machine.machineId,
        operationId: operationOf(call),
        key: call.key,
        purpose: 'test',
        tests: ['cpu'],
        seconds: 0,
        state: isRunning ? 'running' : hasPassed ? 'passed' : 'failed',
        percent: isRunning && task ? progressOf(task, tasks.now()) : 100,
        results: isRunning ? [] : [result],
        inventory: hasPassed ? fakeHardware(call.machine, call.log) : null,
        error: '',
        ...{ orderedAt: at, sentAt: at, seenAt: at, endedAt: isRunning ? null : at },
        pollAfterMs: tasks.msLeft(state),
      };
    },
    start: (call, request) =>
      tasks.start(call, { kind: 'burn-in', target: request.tests.join(',') || request.purpose }),
    stop: (call) => tasks.stopBurnIn(call),
  };
}
