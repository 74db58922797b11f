// @module-tag extended: redfish.test.ts has the client; src/steps the steps.
/** Changes of hardware through a simulated BMC with Redfish: step kinds, their handlers, and what the BMC has afterwards. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Erasure } from '../../src/domain/install/erasure.ts';
import type { Machine } from '../../src/domain/machine/machine.ts';
import type { MachineChange } from '../../src/domain/machine/machine-change.ts';
import { type Observation, StepFailure } from '../../src/engine/step-handler.ts';
import { NO_CONTROL_PLANE } from '../../src/steps/control-plane.fixture.ts';
import type { ControlPlane } from '../../src/steps/control-plane.ts';
import { defineStep, handlerFor } from '../../src/steps/registry.ts';
import { RedfishSimulator } from '../parts/redfish/simulator.ts';
import { VENDOR_NAMES, type VendorName } from '../parts/redfish/vendor-shape.ts';
import { attemptOf } from './attempt.ts';
import { machineWith, unusedKey } from './bmc-site.ts';
import { callFor, createSite, type Site } from './site.ts';

const folder = mkdtempSync(join(tmpdir(), 'ingot-changes-'));
const key = unusedKey();
const IMAGE = Buffer.from('the new firmware');
const SHA256 = createHash('sha256').update(IMAGE).digest('hex');
let bmc: RedfishSimulator;
let site: Site;
let images: Server;
let imageUrl: string;
let served: Buffer = IMAGE;
const fetched: string[] = [];

beforeAll(async () => {
  writeFileSync(join(folder, 'password'), 'a password\n');
  images = createServer((request, response) => {
    fetched.push(request.url ?? '');
    response.end(served);
  });
  await new Promise<void>((resolve) => images.listen(0, '127.0.0.1', resolve));
  imageUrl = `http://127.0.0.1:${(images.address() as AddressInfo).port}/bios-2.0.bin`;
});
afterEach(async () => {
  served = IMAGE;
  fetched.length = 0;
  await site.provider.stop?.();
  site.remove();
  await bmc.stop();
});
afterAll(() => {
  images.close();
  rmSync(folder, { recursive: true });
  key.remove();
});

async function open(vendor: VendorName = 'standard'): Promise<Machine> {
  bmc = await RedfishSimulator.start({ vendor, tls: null, password: 'a password' });
  bmc.system.power = 'On';
  const fields = {
    user: 'root',
    password_file: join(folder, 'password'),
    timeout_seconds: 2,
    redfish: { plaintext: 'allowed' },
  };
  site = createSite({ user: 'root', keyFile: key.file, knownHostsLine: '# no host' }, { bmc: fields });
  return { ...machineWith(bmc.url), phase: 'MAINTENANCE' };
}

interface Driven {
  readonly end: Observation<MachineChange>;
  readonly logged: readonly string[];
  readonly reasons: readonly string[];
}

/** With a clock of its own: what the step waits for is over when it is asked again. */
async function run(
  machine: Machine,
  kind: string,
  config: Record<string, unknown>,
  memo = {},
  controlPlane: ControlPlane = NO_CONTROL_PLANE,
): Promise<Driven> {
  const step = defineStep({ name: kind, kind, config, timeoutSeconds: 600, maxRetries: 0 });
  const { context, logged } = attemptOf(kind, 1, memo);
  const clock = { ms: Date.now() };
  const timed = Object.defineProperty({ ...context, now: () => new Date(clock.ms) }, 'memo', {
    get: () => context.memo,
  });
  const handler = handlerFor(step, { machine, provider: site.provider, controlPlane });
  const reasons: string[] = [];
  try {
    for (let pass = 0; pass < 400; pass += 1) {
      const end = await handler.observe(timed);
      if (end.seen === 'done' || end.seen === 'failed' || (end.seen === 'unobservable' && end.failure)) {
        return { end, logged, reasons };
      }
      if (end.seen === 'under_way') {
        reasons.push(end.reason);
        clock.ms += end.pollAfterMs;
        await new Promise((resolve) => setTimeout(resolve, 10));
      } else await handler.act(timed);
    }
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error;
    return { end: { seen: 'failed', failure: error.failure }, logged, reasons };
  }
  throw new Error(`never over: ${reasons.slice(-3).join(' | ')}`);
}

const done = (message: unknown = expect.any(String)) => expect.objectContaining({ seen: 'done', message });
const failedWith = (code: string, message: RegExp, of = 'failed') =>
  expect.objectContaining({
    seen: of,
    failure: expect.objectContaining({ code, message: expect.stringMatching(message) }),
  });

describe('bios-settings', () => {
  it.each(VENDOR_NAMES.filter((name) => name !== 'standard' && name !== 'dell'))(
    'stages, resets and reads back: %s',
    { tags: ['extended'] },
    proveStaged,
  );
  it.each(['standard', 'dell'] as const)('stages, resets and reads back: %s', proveStaged);

  async function proveStaged(vendor: VendorName): Promise<void> {
    const machine = await open(vendor);
    const attributes = { LogicalProc: 'Disabled', AcPwrRcvryUserDelay: 240, QuietBoot: 'false' };
    const { end } = await run(machine, 'bios-settings', { attributes });
    expect(end).toEqual(done());
    expect(bmc.bios.attributes).toMatchObject({
      LogicalProc: 'Disabled',
      AcPwrRcvryUserDelay: 240,
      QuietBoot: false,
    });
    expect(bmc.system.boots).toHaveLength(1);
    // One that compares versions strictly refuses the weak one first.
    const patches = bmc.changes().filter((line) => line.startsWith('PATCH'));
    expect(patches).toHaveLength(['weak', 'gzip'].includes(bmc.shape.etag) ? 2 : 1);
  }

  it('changes nothing where all is as wanted', async () => {
    const machine = await open();
    const { end } = await run(machine, 'bios-settings', {
      attributes: { LogicalProc: 'Enabled', QuietBoot: true },
    });
    expect(end).toEqual(done('LogicalProc, QuietBoot are as wanted'));
    expect(bmc.changes()).toEqual([]);
  });

  it('resets for what waits already, and stages nothing', async () => {
    const machine = await open();
    bmc.bios.pending = { LogicalProc: 'Disabled' };
    const { end } = await run(machine, 'bios-settings', { attributes: { LogicalProc: 'Disabled' } });
    expect(end).toEqual(done());
    expect(bmc.changes().some((line) => line.startsWith('PATCH'))).toBe(false);
  });

  it.each([
    [{ Turbo: 'Enabled', Secret: 1 }, /it has no Turbo, Secret/],
    [{ SystemModelName: 'Mine' }, /SystemModelName can not be changed/],
    [{ LogicalProc: 'Maybe' }, /LogicalProc can not be Maybe; it can be Enabled, Disabled/],
    [{ AcPwrRcvryUserDelay: 5 }, /AcPwrRcvryUserDelay can not be 5; it is a whole number from 60 to 600/],
  ])('%j is refused before anything is sent, and named', async (attributes, words) => {
    const machine = await open();
    const { end } = await run(machine, 'bios-settings', { attributes });
    expect(end).toEqual(failedWith('SETTINGS_REFUSED', words));
    expect(bmc.changes()).toEqual([]);
  });

  it('says what is still so where the firmware does not take them over', { tags: ['extended'] }, async () => {
    const machine = await open();
    bmc.bios.dropsPending = true;
    const { end } = await run(machine, 'bios-settings', { attributes: { LogicalProc: 'Disabled' } });
    expect(end).toEqual(failedWith('SETTINGS_NOT_APPLIED', /LogicalProc is Enabled, wanted Disabled/));
  });
});

describe('boot-order', () => {
  it.each(['standard', 'nvidia'] as const)(
    'sets it, reads it back, and resets where it waits: %s',
    async (vendor) => {
      const machine = await open(vendor);
      const { end } = await run(machine, 'boot-order', { order: ['Pxe', 'Debian'] });
      expect(end).toEqual(done());
      expect(bmc.bootOrder.order).toEqual(['Boot0002', 'Boot0003', 'Boot0001', 'Boot0004']);
      expect(bmc.system.boots).toHaveLength(vendor === 'nvidia' ? 1 : 0);
      const again = await run(machine, 'boot-order', { order: ['Boot0002', 'Boot0003'] });
      expect(again.end).toEqual(done('boots from Boot0002, Boot0003, Boot0001, Boot0004'));
    },
  );

  it('names a boot option that is not there, and those that are', async () => {
    const machine = await open();
    const { end } = await run(machine, 'boot-order', { order: ['Floppy'] });
    expect(end).toEqual(
      failedWith('SETTINGS_REFUSED', /no boot option Floppy; it has Boot0001 \(Debian\), Boot0002/),
    );
  });
});

describe('netboot', () => {
  it.each([
    ['PXE', { target: 'Pxe', enabled: 'Once' }],
    ['DISK', { target: 'Hdd', enabled: 'Once' }],
    ['CD', { target: 'Cd', enabled: 'Once' }],
    ['BIOS', { target: 'BiosSetup', enabled: 'Once' }],
    ['NONE', { enabled: 'Disabled' }],
  ])('%s is set over Redfish and read back', async (mode, boot) => {
    const machine = await open();
    Object.assign(bmc.system.boot, { target: 'UefiHttp', enabled: 'Continuous' });
    const { end } = await run(machine, 'netboot', { mode });
    expect(end).toEqual(done());
    expect(bmc.system.boot).toMatchObject(boot);
  });
});

describe('firmware-update', () => {
  const config = (fields = {}) => ({
    component: 'BIOS',
    version: '2.0',
    image_url: imageUrl,
    sha256: SHA256,
    ...fields,
  });

  it.each([
    ['standard', 'push'],
    ['dell', 'push'],
    ['supermicro', 'push'],
    ['nvidia', 'simple'],
    ['lenovo', 'push'],
    ['openbmc', 'push'],
  ] as const)('%s: by %s, followed to its end, and the version read back', async (vendor, by) => {
    const machine = await open(vendor);
    bmc.updates.add(IMAGE, { BIOS: '2.0' });
    bmc.tasks.durationMs = 500;
    const { end, reasons } = await run(machine, 'firmware-update', config());
    expect(end).toEqual(done('BIOS has version 2.0'));
    expect(reasons).toContainEqual(expect.stringMatching(/^updating BIOS/));
    expect(bmc.updates.received).toHaveLength(1);
    expect(bmc.updates.received[0]).toMatchObject({ by, fileName: by === 'push' ? 'bios-2.0.bin' : '' });
    expect(bmc.system.boots).toHaveLength(0);
  });

  it('is followed by the list of tasks where the answer names none', async () => {
    const machine = await open();
    bmc.shape = { ...bmc.shape, taskAnswer: 'nothing' };
    bmc.updates.add(IMAGE, { BIOS: '2.0' });
    bmc.tasks.durationMs = 500;
    const { end, reasons } = await run(machine, 'firmware-update', config());
    expect(end).toEqual(done('BIOS has version 2.0'));
    expect(reasons).toContainEqual(expect.stringMatching(/^updating BIOS: the task is running/));
    expect(bmc.system.boots).toHaveLength(0);
  });

  it('finds the BMC where its vendor calls it otherwise', async () => {
    const machine = await open('dell');
    bmc.updates.add(IMAGE, { BMC: '7.0' });
    const { end } = await run(machine, 'firmware-update', config({ component: 'BMC', version: '7.0' }));
    expect(end).toEqual(done('BMC has version 7.0'));
  });

  it('of what is listed takes what runs, by the name and the version that people have for it', async () => {
    const lenovo = await open('lenovo');
    const backup = await run(lenovo, 'firmware-update', config({ component: 'BMC-Backup' }));
    expect(backup.end).toEqual(
      failedWith('FIRMWARE_REFUSED', /lists no firmware of BMC-Backup; it lists BIOS, BMC$/),
    );
    const read = async (machine: Machine) =>
      (await site.can.inventory.readHardware(callFor(machine))).firmware;
    expect(await read(lenovo)).toMatchObject([{ component: 'BIOS' }, { component: 'BMC' }]);
    for (const vendor of ['openbmc', 'supermicro'] as const) {
      await site.provider.stop?.();
      site.remove();
      await bmc.stop();
      expect(await read(await open(vendor)), vendor).toEqual([
        { component: 'BIOS', name: 'BIOS', version: '1.2.3' },
        { component: 'BMC', name: 'BMC', version: '6.10' },
      ]);
    }
  });

  it('sends nothing where the version is there', async () => {
    const machine = await open();
    const { end } = await run(machine, 'firmware-update', config({ version: '1.2.3' }));
    expect(end).toEqual(done('BIOS has version 1.2.3'));
    expect([fetched, bmc.changes()]).toEqual([[], []]);
  });

  it('sends nothing of an image with another digest', async () => {
    const machine = await open();
    served = Buffer.from('something else');
    const { end } = await run(machine, 'firmware-update', config());
    expect(end).toEqual(failedWith('FIRMWARE_REFUSED', /its SHA-256 is .* was asked for/));
    expect(bmc.changes()).toEqual([]);
  });

  it('resets a machine whose update waits for it', async () => {
    const machine = await open('dell');
    bmc.updates.add(IMAGE, { BIOS: '2.0' });
    bmc.updates.waitsForReset = true;
    const { end } = await run(machine, 'firmware-update', config());
    expect(end).toEqual(done('BIOS has version 2.0'));
    expect(bmc.system.boots).toHaveLength(1);
  });

  it('says what the BMC says of an update that failed, and which version is there', async () => {
    const machine = await open();
    bmc.updates.add(IMAGE, { BIOS: '2.0' });
    bmc.tasks.nextFails = 'The image is for another board.';
    const { end } = await run(machine, 'firmware-update', config());
    expect(end).toEqual(
      failedWith('FIRMWARE_UPDATE_FAILED', /The image is for another board.*it has version 1\.2\.3/),
    );
  });

  it('says so where the update is complete and the version is the old one', {
    tags: ['extended'],
  }, async () => {
    const machine = await open();
    bmc.updates.add(IMAGE, { BIOS: '2.0' });
    bmc.updates.isIgnored = true;
    const { end } = await run(machine, 'firmware-update', config());
    expect(end).toEqual(
      failedWith('FIRMWARE_UPDATE_FAILED', /the machine was reset\); it has version 1\.2\.3/),
    );
  });

  it('after a crash between sending and its record: follows the update that is under way', async () => {
    const machine = await open();
    bmc.updates.add(IMAGE, { BIOS: '2.0' });
    bmc.tasks.durationMs = 300;
    bmc.tasks.start({
      name: 'Firmware Update',
      target: '/redfish/v1/UpdateService/upload',
      finish: () => Object.assign(bmc.hardware.firmware, { BIOS: '2.0' }),
    });
    const { end } = await run(machine, 'firmware-update', config(), { sent: true });
    expect(end).toEqual(done('BIOS has version 2.0'));
    expect(bmc.updates.received).toEqual([]);
  });

  it('stops for an operator where the BMC lists no tasks', async () => {
    const machine = await open();
    bmc.hidden.add('/redfish/v1/TaskService');
    const { end } = await run(machine, 'firmware-update', config(), { sent: true });
    expect(end).toEqual(failedWith('FIRMWARE_UPDATE_UNKNOWN', /may have been sent/, 'unobservable'));
    expect(bmc.updates.received).toEqual([]);
  });

  it('names the components that there are', async () => {
    const machine = await open();
    const { end } = await run(machine, 'firmware-update', config({ component: 'NIC' }));
    expect(end).toEqual(failedWith('FIRMWARE_REFUSED', /no firmware of NIC; it lists BIOS, BMC/));
  });
});

describe('raid', () => {
  const OS = { name: 'os', level: 'RAID1', drives: ['SAS0000', 'Disk.Bay.1'] };
  const DATA = { name: 'data', level: 'RAID0', drives: ['SAS0002', 'SAS0003'] };
  const volumes = () => bmc.storage.volumes.map(({ name, level, drives }) => [name, level, ...drives]);

  async function withController(): Promise<Machine> {
    const machine = await open();
    bmc.storage.hasController = true;
    return machine;
  }

  it('creates what is missing, and finds it again', async () => {
    const machine = await withController();
    const { end } = await run(machine, 'raid', { volumes: [OS, DATA] });
    expect(end).toEqual(done('the volumes are os, data'));
    const made = [
      ['os', 'RAID1', 'Disk.Bay.0', 'Disk.Bay.1'],
      ['data', 'RAID0', 'Disk.Bay.2', 'Disk.Bay.3'],
    ];
    expect(volumes()).toEqual(made);
    const before = bmc.changes().length;
    expect((await run(machine, 'raid', { volumes: [OS, DATA] })).end).toEqual(done());
    expect(bmc.changes()).toHaveLength(before);
  });

  it('deletes nothing that it was not asked to', async () => {
    const machine = await withController();
    bmc.storage.create('old', 'RAID5', ['Disk.Bay.0', 'Disk.Bay.1', 'Disk.Bay.2']);
    const kept = await run(machine, 'raid', { volumes: [OS] });
    expect(kept.end).toEqual(failedWith('VOLUMES_IN_THE_WAY', /old \(RAID5\); nothing was changed/));
    expect(bmc.changes()).toEqual([]);
    const { end } = await run(machine, 'raid', { volumes: [OS], destroy_existing: true });
    expect(end).toEqual(done());
    expect(volumes()).toEqual([['os', 'RAID1', 'Disk.Bay.0', 'Disk.Bay.1']]);
  });

  it('leaves alone what is not in the way', async () => {
    const machine = await withController();
    bmc.storage.create('other', 'RAID0', ['Disk.Bay.3']);
    expect((await run(machine, 'raid', { volumes: [OS] })).end).toEqual(done());
    expect(volumes().map(([name]) => name)).toEqual(['other', 'os']);
  });

  it('does nothing to a machine that left maintenance', async () => {
    const machine = await withController();
    const { end } = await run({ ...machine, phase: 'READY' }, 'raid', { volumes: [OS] });
    expect(end).toEqual(failedWith('NOT_IN_MAINTENANCE', /is READY/));
    expect(bmc.changes()).toEqual([]);
  });

  it('names a drive that is not there, and those that are', async () => {
    const machine = await withController();
    const { end } = await run(machine, 'raid', { volumes: [{ ...OS, drives: ['SAS0000', 'SAS0009'] }] });
    expect(end).toEqual(failedWith('VOLUMES_REFUSED', /SAS0009.*RAID\.1: SAS0000 \/ Disk\.Bay\.0/));
  });

  it('says which change failed', async () => {
    const machine = await withController();
    bmc.tasks.nextFails = 'The drive is foreign.';
    const { end } = await run(machine, 'raid', { volumes: [OS] });
    expect(end).toEqual(
      failedWith('VOLUME_CHANGE_FAILED', /could not create the volume os .*The drive is foreign/),
    );
  });
});

describe('erase-disks by the BMC', () => {
  const evidence: Erasure[] = [];
  const controlPlane = (): ControlPlane => ({
    ...NO_CONTROL_PLANE,
    evidence: {
      isRecorded: async () => evidence.length > 0,
      record: async (_call, erasure) => void evidence.push(erasure),
    },
  });

  /** A machine whose drives are all behind the controller. */
  async function withController(): Promise<Machine> {
    evidence.length = 0;
    const machine = await open();
    bmc.hardware.drives = [];
    bmc.storage.hasController = true;
    return machine;
  }

  it('erases each drive in the most certain way, and keeps what became of it', async () => {
    const machine = await withController();
    bmc.storage.sanitizations = ['Overwrite', 'CryptographicErase'];
    const { end } = await run(machine, 'erase-disks', { by: 'bmc' }, {}, controlPlane());
    expect(end).toEqual(
      done(expect.stringContaining('erased: Disk.Bay.0 (serial SAS0000) by bmc-cryptographic-erase')),
    );
    expect(bmc.storage.drives.map(({ erasures }) => erasures)).toEqual([1, 1, 1, 1]);
    expect(evidence[0]?.disks).toHaveLength(4);
    expect(evidence[0]?.disks[0]).toMatchObject({
      serial: 'SAS0000',
      method: 'bmc-cryptographic-erase',
      result: 'erased',
      at: expect.stringMatching(/^20/),
    });
  });

  it('erases none where one can not be erased', async () => {
    const machine = await withController();
    bmc.storage.unerasable = ['Disk.Bay.2'];
    const { end } = await run(machine, 'erase-disks', { by: 'bmc' }, {}, controlPlane());
    expect(end).toEqual(
      failedWith('REDFISH_NOT_OFFERED', /can not erase Disk\.Bay\.2 \(serial SAS0002\); nothing was erased/),
    );
    expect([bmc.changes(), evidence]).toEqual([[], []]);
  });

  it('a drive that was not erased is named, and there is no evidence', async () => {
    const machine = await withController();
    bmc.tasks.nextFails = 'The drive is locked.';
    const { end } = await run(machine, 'erase-disks', { by: 'bmc' }, {}, controlPlane());
    expect(end).toEqual(
      failedWith('ERASE_FAILED', /Disk\.Bay\.0 .*The drive is locked\.; all other drives are erased/),
    );
    bmc.fault = 'failing-tasks';
    const none = await run(machine, 'erase-disks', { by: 'bmc' }, {}, controlPlane());
    expect(none.end).toEqual(failedWith('ERASE_FAILED', /no drive is erased/));
    expect(evidence).toEqual([]);
  });

  it('is followed by the list of tasks where the answer names none', async () => {
    const machine = await withController();
    bmc.shape = { ...bmc.shape, taskAnswer: 'nothing' };
    bmc.tasks.durationMs = 300;
    const { end } = await run(machine, 'erase-disks', { by: 'bmc' }, {}, controlPlane());
    expect(end).toEqual(done());
    expect(bmc.storage.drives.map(({ erasures }) => erasures)).toEqual([1, 1, 1, 1]);
  });

  it('that is accepted and that nothing shows afterwards is not called an erasure', async () => {
    const machine = await withController();
    bmc.shape = { ...bmc.shape, taskAnswer: 'nothing' };
    bmc.hidden.add('/redfish/v1/TaskService');
    const { end } = await run(machine, 'erase-disks', { by: 'bmc' }, {}, controlPlane());
    expect(end).toEqual(
      failedWith('ERASE_FAILED', /Disk\.Bay\.0 .*names no task for it; whether it was erased is not known/),
    );
    expect(evidence).toEqual([]);
  });

  it('a drive whose erasure the BMC forgot is not called erased', async () => {
    const machine = await withController();
    for (const folder of ['Tasks', 'TaskMonitors']) bmc.hidden.add(`/redfish/v1/TaskService/${folder}/JID_2`);
    const { end } = await run(machine, 'erase-disks', { by: 'bmc' }, {}, controlPlane());
    expect(end).toEqual(
      failedWith('ERASE_FAILED', /Disk\.Bay\.1 .*does not know .*whether it was erased is not known/),
    );
    expect(evidence).toEqual([]);
  });
});
