import { beforeEach, describe, expect, it } from 'vitest';
import { sampleMachine } from '../../domain/machine/machine.fixture.ts';
import type { Labels } from '../../domain/machine/machine.ts';
import type { Capabilities, Imaging, Netboot, ProviderCall } from '../provider.ts';
import { checkFakeLabels, failuresWanted, hangs, stepDurationMs } from './fake-labels.ts';
import { createFakeProvider } from './fake-provider.ts';
import { type FakeTask, NEW_FAKE_STATE, progressOf, settle } from './fake-state.ts';
import { MemoryFakeWorld } from './memory-fake-world.fixture.ts';

type FakeCapabilities = Capabilities & { readonly netboot: Netboot; readonly imaging: Imaging };

let clock: { ms: number };
let world: MemoryFakeWorld;
let can: FakeCapabilities;
let logged: string[];

beforeEach(() => {
  clock = { ms: 1_000_000 };
  world = new MemoryFakeWorld();
  logged = [];
  can = createFakeProvider({ name: 'fake', world, now: () => clock.ms }).capabilities as FakeCapabilities;
});

function call(labels: Labels = {}, fields: Partial<ProviderCall> = {}): ProviderCall {
  return {
    machine: sampleMachine({ labels }),
    key: 'op-1/work/1',
    step: 'work',
    fence: 1,
    checkHeld: () => {},
    signal: new AbortController().signal,
    log: (text) => logged.push(text),
    ...fields,
  };
}

const attempt = (number: number): Partial<ProviderCall> => ({ key: `op-1/work/${number}` });

describe('fake/step-ms', () => {
  it.each([
    ['netboot', 800],
    ['reboot', 3_000],
    ['repave', 6_000],
    ['join', 2_000],
  ] as const)('without it a %s takes a plausible time', (kind, ms) => {
    expect(stepDurationMs({}, kind)).toBe(ms);
  });

  it.each([
    ['0', 0],
    ['20', 20],
    ['86400000', 86_400_000],
    ['999999999', 86_400_000],
  ])('%s makes every task take %i ms', (text, ms) => {
    expect(stepDurationMs({ 'fake/step-ms': text }, 'repave')).toBe(ms);
  });

  it.each(['', '-1', '1.5', '1e3', 'fast', ' 1', '1\n', '1234567890'])(
    '%j is refused, and ignored where it is',
    (text) => {
      const labels = { 'fake/step-ms': text };
      expect(checkFakeLabels(labels)).toEqual({
        label: 'fake/step-ms',
        problem: 'must be a whole number of milliseconds',
      });
      expect(stepDurationMs(labels, 'netboot')).toBe(800);
    },
  );

  it('is how long the work goes on, however often it is observed', async () => {
    const slow = call({ 'fake/step-ms': '1000' });
    await can.netboot.setBootDevice(slow, 'pxe', 'debian-12');
    clock.ms += 999;
    expect(await can.netboot.bootDevice(slow)).toEqual({
      device: 'disk',
      image: '',
      pending: true,
      pollAfterMs: 1,
    });
    clock.ms += 1;
    expect(await can.netboot.bootDevice(slow)).toEqual({
      device: 'pxe',
      image: 'debian-12',
      pending: false,
      pollAfterMs: 0,
    });
  });

  it('of 0 has the effect at once', async () => {
    const quick = call({ 'fake/step-ms': '0' });
    await can.power.reboot(quick, 'bmc', '1');
    expect(await can.power.bootState(quick)).toMatchObject({ ready: true, bootId: '2' });
  });
});

describe('fake/fail-step', () => {
  it.each([
    ['work', Number.POSITIVE_INFINITY],
    ['repave', Number.POSITIVE_INFINITY],
    ['work:2', 2],
    ['repave:1', 1],
    ['work:0', 0],
    ['other', 0],
    ['other:3', 0],
    ['', 0],
  ])('%j makes the step work of kind repave fail %d times', (text, times) => {
    expect(failuresWanted({ 'fake/fail-step': text }, 'work', 'repave')).toBe(times);
  });

  it.each(['', 'Work', 'work:', 'work:x', 'work:-1', 'work:1:2', 'work 1', 'work:1234567'])(
    '%j is refused',
    (text) => {
      expect(checkFakeLabels({ 'fake/fail-step': text })).toEqual({
        label: 'fake/fail-step',
        problem: 'must be <step> or <step>:<times>',
      });
    },
  );

  it('fails every attempt without a number', async () => {
    const labels = { 'fake/fail-step': 'reboot', 'fake/step-ms': '10' };
    for (let number = 1; number <= 5; number += 1) {
      const again = call(labels, attempt(number));
      await can.power.reboot(again, 'bmc', '1');
      clock.ms += 10;
      await expect(can.power.bootState(again)).rejects.toMatchObject({
        failure: {
          class: 'retryable',
          code: 'EXECUTION_FAILED',
          message: 'the BMC did not answer the reset command',
        },
      });
    }
    expect((await world.read('m-1')).bootCount).toBe(1);
  });

  it('fails as many attempts as it says, and then lets the next succeed', async () => {
    const labels = { 'fake/fail-step': 'reboot:2', 'fake/step-ms': '0' };
    const rebooted = async (number: number) => {
      await can.power.reboot(call(labels, attempt(number)), 'bmc', '1');
      return can.power.bootState(call(labels, attempt(number)));
    };
    await expect(rebooted(1)).rejects.toThrow('the BMC did not answer');
    await expect(rebooted(2)).rejects.toThrow('the BMC did not answer');
    expect(await rebooted(3)).toMatchObject({ bootId: '2', ready: true });
  });

  it('counts an attempt once, however often it is repeated', async () => {
    const labels = { 'fake/fail-step': 'reboot:2', 'fake/step-ms': '10' };
    for (let time = 0; time < 5; time += 1) await can.power.reboot(call(labels), 'bmc', '1');
    expect((await world.read('m-1')).failures).toEqual({ 'reboot:2': 1 });
  });

  it('counts from zero for another value', async () => {
    const failing = async (text: string, number: number) => {
      const asked = call({ 'fake/fail-step': text, 'fake/step-ms': '0' }, attempt(number));
      await can.power.reboot(asked, 'bmc', '1');
      await can.power.bootState(asked);
    };
    await expect(failing('reboot:1', 1)).rejects.toThrow();
    await failing('reboot:1', 2);
    await expect(failing('work:1', 3)).rejects.toThrow();
  });

  it('leaves other steps alone', async () => {
    await can.power.reboot(call({ 'fake/fail-step': 'repave', 'fake/step-ms': '0' }), 'bmc', '1');
    expect(await can.power.bootState(call())).toMatchObject({ bootId: '2', ready: true });
  });

  it('makes an observation fail that has no task', async () => {
    world.put('m-1', { clusterRef: 'prod' });
    const labels = { 'fake/fail-step': 'verify:1' };
    await expect(can.cluster.ready(call(labels), 'prod')).rejects.toThrow('the node is NotReady');
    expect(await can.cluster.ready(call(labels), 'prod')).toBe(true);
  });

  it('ruins the disk that was being written', async () => {
    const failing = call({ 'fake/fail-step': 'repave', 'fake/step-ms': '10' });
    await can.imaging.startImaging(failing, 'debian-12');
    clock.ms += 10;
    expect(await can.imaging.imagingState(failing)).toMatchObject({
      state: 'failed',
      key: 'op-1/work/1',
      error: 'the image could not be written: I/O error on /dev/sda',
    });
  });

  it('does not prevent an undo', async () => {
    world.put('m-1', { bootDevice: 'pxe' });
    const back = call({ 'fake/fail-step': 'netboot', 'fake/step-ms': '0' }, { key: 'op-1/netboot/undo-1' });
    await can.netboot.setBootDevice(back, 'disk', '');
    expect((await can.netboot.bootDevice(back)).device).toBe('disk');
  });
});

describe('fake/hang-step', () => {
  it.each([
    ['work', true],
    ['join', true],
    ['reboot', false],
    ['', false],
  ])('%j makes the step work of kind join hang: %s', (text, hanging) => {
    expect(hangs({ 'fake/hang-step': text }, 'work', 'join')).toBe(hanging);
  });

  it('goes on forever, and is not polled in a busy loop', async () => {
    const hanging = call({ 'fake/hang-step': 'join', 'fake/step-ms': '10' });
    await can.cluster.join(hanging, 'prod');
    clock.ms += 365 * 24 * 60 * 60 * 1000;
    expect(await can.cluster.membership(hanging, 'prod')).toEqual({
      joined: false,
      pending: true,
      pollAfterMs: 60_000,
    });
  });

  it('keeps a node from becoming ready', async () => {
    world.put('m-1', { clusterRef: 'prod' });
    expect(await can.cluster.ready(call({ 'fake/hang-step': 'verify' }), 'prod')).toBe(false);
    expect(await can.cluster.ready(call(), 'prod')).toBe(true);
  });

  it('does not prevent an undo', async () => {
    const labels = { 'fake/hang-step': 'netboot', 'fake/step-ms': '10' };
    await can.netboot.setBootDevice(call(labels), 'pxe', 'debian-12');
    const back = call(labels, { key: 'op-1/netboot/undo-1' });
    await can.netboot.setBootDevice(back, 'disk', '');
    clock.ms += 10;
    expect(await can.netboot.bootDevice(back)).toMatchObject({ device: 'disk', pending: false });
  });
});

describe('labels of others', () => {
  it('mean nothing here', () => {
    expect(checkFakeLabels({ rack: 'r42', 'fake/other': '!', 'fake/hang-step': 'anything' })).toBeNull();
    expect(checkFakeLabels({ 'fake/step-ms': '5', 'fake/fail-step': 'repave-os:3' })).toBeNull();
  });
});

describe('a repeated call', () => {
  it('with the same key finds its task under way, or over, and begins no other', async () => {
    const one = call({ 'fake/step-ms': '100' });
    await can.power.reboot(one, 'bmc', '1');
    clock.ms += 50;
    await can.power.reboot(one, 'bmc', '1');
    clock.ms += 50;
    await can.power.reboot(one, 'bmc', '1');
    clock.ms += 1_000;
    expect(await can.power.bootState(one)).toMatchObject({ bootId: '2', ready: true });
    expect(world.tasks).toHaveLength(1);
  });

  it('with another key is another task', async () => {
    await can.power.reboot(call({ 'fake/step-ms': '0' }, attempt(1)), 'bmc', '1');
    await can.power.reboot(call({ 'fake/step-ms': '0' }, attempt(2)), 'ssh', '1');
    expect((await world.read('m-1')).task?.key).toBe('op-1/work/2');
    expect(world.tasks).toHaveLength(2);
    expect(logged[0]).toBe('Sending IPMI reset command');
    expect(logged[2]).toBe('Rebooting over SSH');
  });
});

describe('what the work does', () => {
  const quick = { 'fake/step-ms': '0' };

  it('a fresh image boots from disk and is in no cluster', async () => {
    world.put('m-1', { bootDevice: 'pxe', clusterRef: 'prod' });
    await can.imaging.startImaging(call(quick), 'debian-12');
    expect(await can.imaging.imagingState(call())).toEqual({
      state: 'written',
      key: 'op-1/work/1',
      image: 'debian-12',
    });
    expect((await can.netboot.bootDevice(call({}, attempt(2)))).device).toBe('disk');
    expect((await can.cluster.membership(call({}, attempt(2)), 'prod')).joined).toBe(false);
  });

  it('a write shows how far it is', async () => {
    const slow = call({ 'fake/step-ms': '1000' });
    await can.imaging.startImaging(slow, 'debian-12');
    clock.ms += 250;
    expect(await can.imaging.imagingState(slow)).toEqual({
      state: 'writing',
      key: 'op-1/work/1',
      progress: 25,
      pollAfterMs: 200,
    });
  });

  it('a stopped write leaves no image', async () => {
    world.put('m-1', { image: 'old' });
    await can.imaging.startImaging(call({ 'fake/step-ms': '1000' }), 'debian-12');
    await can.imaging.stopImaging(call({}, { key: 'op-1/work/undo-1' }));
    expect(await world.read('m-1')).toMatchObject({ image: '', task: null });
  });

  it('another operation’s write is not stopped', async () => {
    await can.imaging.startImaging(call({ 'fake/step-ms': '1000' }), 'debian-12');
    await can.imaging.stopImaging(call({}, { key: 'op-2/work/undo-1' }));
    expect((await can.imaging.imagingState(call())).state).toBe('writing');
  });

  it('a node is ready only in the cluster that it joined', async () => {
    await can.cluster.join(call(quick), 'prod');
    expect(await can.cluster.ready(call(), 'prod')).toBe(true);
    expect(await can.cluster.ready(call(), 'test')).toBe(false);
  });

  it('a machine that reboots is not ready', async () => {
    await can.power.reboot(call({ 'fake/step-ms': '100' }), 'bmc', '1');
    expect(await can.power.bootState(call())).toMatchObject({ power: 'on', bootId: '1', ready: false });
  });
});

describe('fences', () => {
  const quick = { 'fake/step-ms': '0' };
  const stale = async () => (await world.read('m-1')).staleEffects;

  it('count an effect that comes after one of a later holder', async () => {
    await can.power.reboot(call(quick, { fence: 2 }), 'bmc', '1');
    expect(await stale()).toBe(0);
    await can.power.reboot(call(quick, { fence: 1 }), 'bmc', '1');
    expect(await stale()).toBe(1);
    await can.imaging.stopImaging(call(quick, { fence: 1 }));
    expect(await stale()).toBe(2);
  });

  it('do not count the same holder again, or a later one', async () => {
    for (const fence of [1, 1, 2, 7]) await can.power.reboot(call(quick, { fence }), 'bmc', '1');
    expect(await stale()).toBe(0);
  });

  it('start from zero with another operation', async () => {
    await can.power.reboot(call(quick, { fence: 7 }), 'bmc', '1');
    await can.power.reboot(call(quick, { key: 'op-2/work/1', fence: 1 }), 'bmc', '1');
    expect(await stale()).toBe(0);
  });

  it('do not apply to an observation', async () => {
    await can.power.reboot(call(quick, { fence: 2 }), 'bmc', '1');
    await can.power.bootState(call(quick, { fence: 1 }));
    expect(await stale()).toBe(0);
  });
});

describe('time and the simulated machine', () => {
  const task: FakeTask = {
    key: 'op-1/work/1',
    kind: 'reboot',
    startedAt: 1_000,
    durationMs: 100,
    outcome: 'ok',
    target: '',
  };
  const state = { ...NEW_FAKE_STATE, task };

  it('a task has its effect at its end and not before', () => {
    expect(settle(state, 1_099)).toBe(state);
    expect(settle(state, 1_100)).toMatchObject({
      task: null,
      bootCount: 2,
      ended: { key: 'op-1/work/1', kind: 'reboot', ok: true },
    });
  });

  it('has it once', () => {
    const over = settle(state, 1_100);
    expect(settle(over, 9_999)).toBe(over);
  });

  it('a failed task ends without an effect', () => {
    const failed = settle({ ...state, task: { ...task, outcome: 'fail' } }, 1_100);
    expect(failed).toMatchObject({ task: null, bootCount: 1, ended: { ok: false } });
  });

  it.each([
    [1_000, 0],
    [1_050, 50],
    [5_000, 100],
    [0, 0],
  ])('progress at %i is %i %%', (now, percent) => expect(progressOf(task, now)).toBe(percent));

  it('progress of a task without a duration is 100 %', () => {
    expect(progressOf({ ...task, durationMs: 0 }, 1_000)).toBe(100);
  });
});
