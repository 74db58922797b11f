/**
 * A provider whose machines exist only in the database. It behaves like a real one: work takes time, a task goes on
 * whether or not it is observed, and what happened is found by observing.
 */
import { inClusterCondition } from '../../domain/condition/node-observation.ts';
import type { Inspect, Media, Netboot, PowerControl, Provider, ProviderCall } from '../provider.ts';
import { createFakeBmc } from './fake-bmc.ts';
import { createFakeChanges } from './fake-changes.ts';
import { createFakeCluster } from './fake-cluster.ts';
import { createFakeConsole } from './fake-console.ts';
import { createFakeErasing, createFakeImaging } from './fake-disks.ts';
import { fakeHardware } from './fake-hardware.ts';
import { checkFakeLabels, isFakeLabel } from './fake-labels.ts';
import { fakeReading } from './fake-sensors.ts';
import { sightOf } from './fake-state.ts';
import { FakeTasks, type FakeWorld, taskCall } from './fake-tasks.ts';

export interface FakeProviderOptions {
  readonly name: string;
  readonly world: FakeWorld;
  readonly now: () => number;
  /** Its boots can't be distinguished, and a BMC switches its power. */
  readonly switchesPower?: true;
}

export function createFakeProvider({ name, world, now, switchesPower }: FakeProviderOptions): Provider {
  const tasks = new FakeTasks(world, now);
  return {
    name,
    defaultImage: 'ubuntu-2204',
    checkLabels: checkFakeLabels,
    readsLabel: isFakeLabel,
    capabilities: {
      power: switchesPower ? createSwitchedPower(tasks) : createFakePower(tasks),
      remoteExec: {
        async run(call, { command, quiet }) {
          if (!quiet) call.log(`$ ${command}`);
          await tasks.run(call, { kind: 'exec', target: command });
          return { exitCode: 0, stdout: '' };
        },
      },
      inspect: createFakeInspect(tasks),
      inventory: { readHardware: async ({ machine, log }) => fakeHardware(machine, log) },
      sensors: { read: async (machine, known) => fakeReading(machine, known, now()) },
      media: createFakeMedia(tasks),
      ...createFakeChanges(tasks),
      console: createFakeConsole(),
      bmc: createFakeBmc(tasks),
      netboot: createFakeNetboot(tasks),
      imaging: createFakeImaging(tasks),
      erasing: createFakeErasing(tasks),
      cluster: createFakeCluster(tasks),
    },
  };
}

function createFakePower(tasks: FakeTasks): PowerControl {
  return {
    async bootState(call) {
      const state = await tasks.observe(call);
      return {
        power: state.power,
        bootId: String(state.bootCount),
        ready: state.task?.kind !== 'reboot' && state.power === 'on',
        pollAfterMs: tasks.msLeft(state),
      };
    },
    async reboot(call, mode) {
      call.log(mode === 'ssh' ? 'Rebooting over SSH' : 'Sending IPMI reset command');
      await tasks.start(call, { kind: 'reboot', target: '' });
      call.log('Waiting for machine to come back');
    },
    async shutDown(call) {
      call.log('Shutting down');
      await tasks.start(call, { kind: 'shutdown', target: '' });
    },
  };
}

function createSwitchedPower(tasks: FakeTasks): PowerControl {
  const power = createFakePower(tasks);
  return {
    ...power,
    bootState: async (call) => ({ ...(await power.bootState(call)), bootId: null }),
    async switchPower(call: ProviderCall, to: 'on' | 'off') {
      await tasks.start(taskCall(call, to), { kind: to === 'off' ? 'shutdown' : 'reboot', target: '' });
    },
  };
}

function createFakeMedia(tasks: FakeTasks): Media {
  return {
    async inserted(call) {
      const state = await tasks.observe(call);
      const isPending = state.task?.kind === 'media';
      return { url: state.media || null, pending: isPending, pollAfterMs: tasks.msLeft(state) };
    },
    insert: (call, url) => tasks.start(call, { kind: 'media', target: url }),
    eject: (call) => tasks.start(call, { kind: 'media', target: '' }),
  };
}

function createFakeNetboot(tasks: FakeTasks): Netboot {
  return {
    async bootDevice(call) {
      const state = await tasks.observe(call);
      return {
        device: state.bootDevice,
        image: state.netbootImage,
        pending: state.task?.kind === 'netboot',
        pollAfterMs: tasks.msLeft(state),
      };
    },
    async setBootDevice(call, device, image) {
      call.log(device === 'pxe' ? `Configuring PXE for ${image}` : `Setting the boot device to ${device}`);
      await tasks.start(call, { kind: 'netboot', target: device, netbootImage: image });
      if (device === 'pxe') call.log('DHCP updated');
    },
  };
}

function createFakeInspect(tasks: FakeTasks): Inspect {
  return {
    async host({ machineId }) {
      const { power, task } = await tasks.state(machineId);
      return power === 'on' && task?.kind !== 'reboot'
        ? { ok: true, reason: 'PingOK', message: 'the simulated machine is up' }
        : { ok: false, reason: 'NoAnswer', message: 'the simulated machine is down or rebooting' };
    },
    async bmc({ spec }) {
      if (spec.bmc_endpoint === '') return null;
      return { ok: true, reason: 'BmcOK', message: 'the simulated BMC answers' };
    },
    async cluster({ machineId, spec }) {
      const wanted = spec.target_cluster_ref;
      if (wanted === '') return null;
      const sight = sightOf(await tasks.state(machineId), machineId, wanted);
      const { status: ok, ...verdict } = inClusterCondition(sight);
      return { ok, ...verdict, sight };
    },
  };
}
