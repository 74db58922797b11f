/** What people have a BMC do, over Redfish, through the API of a real server and a simulated BMC of each vendor. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { BmcService } from '../../src/gen/baremetal/fleet/v1/bmc_service_pb.ts';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import type { Operation } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { ended, fresh, get, phaseOf } from '../api/fleet.ts';
import { unusedKey } from '../datacenter/bmc-site.ts';
import { testAuthority } from '../parts/certificates.ts';
import { cloneDatabase } from '../parts/postgres.ts';
import { RedfishSimulator } from '../parts/redfish/simulator.ts';
import { VENDOR_NAMES, type VendorName } from '../parts/redfish/vendor-shape.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';

const authority = testAuthority();
const certificate = authority.issue({ name: 'bmc', names: ['127.0.0.1'], purpose: 'server' });
const folder = mkdtempSync(join(tmpdir(), 'ingot-verbs-'));
const key = unusedKey();
const PASSWORD = 'correct-horse-battery-staple';
let server: TestServer;
let bmc: RedfishSimulator;
let machineId: string;

const configuration = (redfish: Readonly<Record<string, unknown>>) =>
  datacenterConfiguration.parse({
    kind: 'datacenter',
    ssh: { user: 'root', private_key_file: key.file, insecure_accept_any: true },
    bmc: { user: 'root', password_file: join(folder, 'password'), timeout_seconds: 2, redfish },
  });

beforeAll(async () => {
  writeFileSync(join(folder, 'password'), `${PASSWORD}\n`);
  server = await startTestServer({
    providers: { 'dc-1': configuration({ ca_file: authority.caFile }), strange: configuration({}) },
  });
});
afterAll(async () => {
  await server?.stop();
  await bmc?.stop();
  rmSync(folder, { recursive: true });
  authority.remove();
  key.remove();
});

async function register(vendor: VendorName = 'standard', provider = 'dc-1'): Promise<void> {
  await bmc?.stop();
  // The next BMC may get its port.
  if (machineId !== undefined)
    await server.machines.updateMachine({
      machine: { machineId, spec: { bmcEndpoint: '' } },
      updateMask: { paths: ['spec.bmc_endpoint'] },
    });
  bmc = await RedfishSimulator.start({ vendor, tls: certificate, password: PASSWORD });
  machineId = fresh('metal');
  await server.machines.registerMachine({ machine: { machineId, spec: { provider, bmcEndpoint: bmc.url } } });
}

const api = () => server.client(BmcService, server.adminToken);
const start = () => ({ machineId, requestId: fresh('r'), reason: 'a test' });
const logOf = async ({ operationId }: Operation) => {
  const lines: string[] = [];
  for await (const { data } of server.operations.streamOperationLogs({ operationId }))
    lines.push(Buffer.from(data).toString('utf8'));
  return lines.join('\n');
};
const power = async (action: string) => ended(server, await api().changePower({ ...start(), action }));
const eventsOf = async (subject: string) => {
  const { events } = await server.client(FleetService, server.adminToken).listEvents({
    filter: `machine_id=${machineId}`,
    pageSize: 100,
  });
  return events.filter((event) => event.subject === subject);
};

describe('the power of a machine', () => {
  beforeEach(() => register());

  it('is changed by the reset that the BMC offers, and the log says which and what was offered', async () => {
    const on = await power('on');
    expect(phaseOf(on), on.error?.message).toBe('SUCCEEDED');
    expect(bmc.system.resets).toEqual(['On']);
    expect(await logOf(on)).toContain('Sending the reset On over Redfish (offered: On, ForceOff');
    for (const [action, reset] of [
      ['reset', 'ForceRestart'],
      ['restart', 'GracefulRestart'],
      ['nmi', 'Nmi'],
      ['shutdown', 'GracefulShutdown'],
    ] as const) {
      expect(phaseOf(await power(action)), action).toBe('SUCCEEDED');
      expect(bmc.system.resets.at(-1)).toBe(reset);
    }
    expect(bmc.system.power).toBe('Off');
    expect(phaseOf(await power('push-button'))).toBe('SUCCEEDED');
    expect(bmc.system.resets.at(-1)).toBe('PushPowerButton');
    expect(on.startedBy).toMatch(/^admin:/);
  });

  it('is cycled by one command where the BMC has it, and otherwise switched off and on', {
    tags: ['extended'],
  }, async () => {
    bmc.system.reset('On');
    const switched = await power('cycle');
    expect(phaseOf(switched), switched.error?.message).toBe('SUCCEEDED');
    expect(bmc.system.resets).toEqual(['On', 'ForceOff', 'On']);
    expect(await logOf(switched)).toContain('The BMC offers no power cycle');
    bmc.becomes('openbmc');
    bmc.system.reset('On');
    const cycled = await power('cycle');
    expect(phaseOf(cycled), cycled.error?.message).toBe('SUCCEEDED');
    expect(bmc.system.resets.at(-1)).toBe('PowerCycle');
  });

  it('is refused in words where the BMC does not offer it, and for an unknown word', async () => {
    bmc.becomes('openbmc');
    const pushed = await power('push-button');
    expect(pushed.error).toMatchObject({ code: 'REDFISH_NOT_OFFERED' });
    expect(pushed.error?.message).toContain('PushPowerButton; it offers On, ForceOff');
    const wrong = await refusal(api().changePower({ ...start(), action: 'explode' }));
    expect(wrong).toMatchObject({ reason: 'INVALID_FIELD' });
  });

  it('is read with what it draws, and capped, read back and released', async () => {
    expect(await api().getPower({ machineId })).toMatchObject({ power: 'off', watts: 412, canCap: true });
    const capped = await ended(server, await api().setPowerCap({ ...start(), watts: 450 }));
    expect(phaseOf(capped), capped.error?.message).toBe('SUCCEEDED');
    expect(bmc.powerLimit.watts).toBe(450);
    expect((await api().getPower({ machineId })).capWatts).toBe(450);
    await ended(server, await api().setPowerCap(start()));
    expect((await api().getPower({ machineId })).capWatts).toBeUndefined();
    expect((await refusal(api().setPowerCap({ ...start(), watts: 0 }))).reason).toBe('INVALID_FIELD');
  });

  it('is shown as capped only while the cap counts, and switched on and off where the vendor has a switch', async () => {
    bmc.becomes('dell');
    const before = await api().getPower({ machineId });
    expect([before.capWatts, before.canCap]).toEqual([undefined, true]);
    const capped = await ended(server, await api().setPowerCap({ ...start(), watts: 450 }));
    expect(phaseOf(capped), capped.error?.message).toBe('SUCCEEDED');
    expect((await api().getPower({ machineId })).capWatts).toBe(450);
    await ended(server, await api().setPowerCap(start()));
    expect(bmc.powerLimit).toMatchObject({ watts: null, setWatts: 450 });
    expect((await api().getPower({ machineId })).capWatts).toBeUndefined();
  });

  it('is capped by EnvironmentMetrics on newer BMCs, within what they take', {
    tags: ['extended'],
  }, async () => {
    bmc.becomes('nvidia');
    const capped = await ended(server, await api().setPowerCap({ ...start(), watts: 450 }));
    expect(phaseOf(capped), capped.error?.message).toBe('SUCCEEDED');
    expect(await api().getPower({ machineId })).toMatchObject({ capWatts: 450, lowestCapWatts: 200 });
    const low = await ended(server, await api().setPowerCap({ ...start(), watts: 50 }));
    expect(low.error?.message).toContain('a limit of 50 W; it takes one from 200 W up to 1400 W');
    bmc.becomes('supermicro');
    expect(await api().getPower({ machineId })).toMatchObject({ watts: 412, canCap: false });
    const none = await ended(server, await api().setPowerCap({ ...start(), watts: 450 }));
    expect(none.error?.code).toBe('REDFISH_NOT_OFFERED');
  });
});

describe('the indicator', () => {
  beforeEach(() => register());

  it('goes on for a time and off by itself, is shown on the machine, and both are events', async () => {
    const { locating } = await api().locateMachine({ machineId, duration: '2s', reason: 'swap a disk' });
    expect(bmc.indicator.isOn).toBe(true);
    expect(locating?.by).toMatch(/^admin:/);
    expect((await get(server, machineId)).status?.locating?.until).toEqual(locating?.until);
    await until(() => !bmc.indicator.isOn);
    await until(async () => (await get(server, machineId)).status?.locating === undefined);
    const events = await eventsOf('indicator');
    expect(events.map(({ to }) => to).toSorted()).toEqual(['off', 'on']);
    expect(events.find(({ to }) => to === 'on')?.comment).toBe('swap a disk');
  });

  it('is switched off by hand, and by the server later where its BMC does not answer', {
    tags: ['extended'],
  }, async () => {
    await api().locateMachine({ machineId, duration: '1h' });
    await api().locateMachine({ machineId, off: true });
    expect(bmc.indicator.isOn).toBe(false);
    expect((await get(server, machineId)).status?.locating).toBeUndefined();
    await api().locateMachine({ machineId, duration: '1h' });
    bmc.fault = 'busy';
    expect((await refusal(api().locateMachine({ machineId, off: true }))).reason).toBe('BMC_NOT_ANSWERING');
    await until(async () => (await get(server, machineId)).status?.locating?.problem !== '');
    bmc.fault = null;
    await until(() => !bmc.indicator.isOn);
  });

  it('goes off when its time is over, also where the server was restarted meanwhile', async () => {
    const providers = { 'dc-1': configuration({ ca_file: authority.caFile }) };
    const database = await cloneDatabase();
    const first = await startTestServer({ database, providers });
    const spec = { provider: 'dc-1', bmcEndpoint: bmc.url };
    await first.machines.registerMachine({ machine: { machineId, spec } });
    await first.client(BmcService, first.adminToken).locateMachine({ machineId, duration: '1h' });
    await first.stop();
    expect(bmc.indicator.isOn).toBe(true);
    const second = await startTestServer({ database, providers });
    // As if the hour had passed meanwhile.
    await second.sql(`UPDATE machines SET locating = locating || '{"dueAt": "2020-01-01T00:00:00.000Z"}'`);
    await until(() => !bmc.indicator.isOn);
    await until(async () => (await get(second, machineId)).status?.locating === undefined);
    await second.stop();
    await database.drop();
  });

  it('that can not be switched on leaves nothing behind, and an invalid time is refused', async () => {
    bmc.fault = 'forbidden';
    const refused = await refusal(api().locateMachine({ machineId }));
    expect(refused.reason).toBe('BMC_CALL_FAILED');
    expect((await get(server, machineId)).status?.locating).toBeUndefined();
    for (const duration of ['a while', '0s', '25h'])
      expect((await refusal(api().locateMachine({ machineId, duration }))).reason).toBe('INVALID_FIELD');
  });

  it.each(VENDOR_NAMES)('of a BMC as of %s goes on and off', { tags: ['extended'] }, async (vendor) => {
    bmc.becomes(vendor);
    await api().locateMachine({ machineId });
    expect(bmc.indicator.isOn).toBe(true);
    await api().locateMachine({ machineId, off: true });
    expect(bmc.indicator.isOn).toBe(false);
  });
});

describe('the boot override', () => {
  beforeEach(() => register());

  it.each([
    ['pxe', 'Pxe'],
    ['disk', 'Hdd'],
    ['cd', 'Cd'],
    ['setup', 'BiosSetup'],
    ['http', 'UefiHttp'],
  ])('to %s is set once and for every boot, and read back', async (source, target) => {
    for (const continuous of [false, true]) {
      const done = await ended(server, await api().setBootOverride({ ...start(), source, continuous }));
      expect(phaseOf(done), done.error?.message).toBe('SUCCEEDED');
      expect(bmc.system.boot).toMatchObject({ target, enabled: continuous ? 'Continuous' : 'Once' });
      expect(await api().getBootOverride({ machineId })).toMatchObject({ source, target, once: !continuous });
    }
    await ended(server, await api().setBootOverride({ ...start(), source: 'none' }));
    expect((await api().getBootOverride({ machineId })).source).toBe('none');
  });

  it('to USB is set where the BMC offers it, and refused in words where it does not', async () => {
    const refused = await ended(server, await api().setBootOverride({ ...start(), source: 'usb' }));
    expect(refused.error?.code).toBe('REDFISH_NOT_OFFERED');
    expect(refused.error?.message).toContain('a boot from Usb; it offers None, Pxe, Cd');
    bmc.becomes('supermicro');
    const done = await ended(server, await api().setBootOverride({ ...start(), source: 'usb' }));
    expect(phaseOf(done), done.error?.message).toBe('SUCCEEDED');
    expect(bmc.system.boot).toMatchObject({ target: 'Usb', enabled: 'Once' });
    expect(await api().getBootOverride({ machineId })).toMatchObject({ source: 'usb', once: true });
    await ended(server, await api().setBootOverride({ ...start(), source: 'none' }));
    expect(bmc.system.boot.enabled).toBe('Disabled');
  });

  it('to a UEFI target has its path, and no other source has one', async () => {
    const path = 'PciRoot(0x0)/Pci(0x1,0x0)/NVMe(0x1)';
    const done = await ended(
      server,
      await api().setBootOverride({ ...start(), source: 'uefi-target', path }),
    );
    expect(phaseOf(done), done.error?.message).toBe('SUCCEEDED');
    expect(await api().getBootOverride({ machineId })).toMatchObject({ source: 'uefi-target', path });
    for (const [source, wrong] of [
      ['uefi-target', ''],
      ['disk', 'x'],
      ['boot-option', 'first'],
      ['http', 'ftp://x'],
      ['nowhere', ''],
    ] as const)
      expect((await refusal(api().setBootOverride({ ...start(), source, path: wrong }))).reason).toBe(
        'INVALID_FIELD',
      );
  });

  it('shows no one the rest of an address that may be a one-time one', async () => {
    const path = 'http://192.0.2.7:8080/boot/secret-token';
    const done = await ended(server, await api().setBootOverride({ ...start(), source: 'http', path }));
    expect(phaseOf(done), done.error?.message).toBe('SUCCEEDED');
    expect((await api().getBootOverride({ machineId })).path).toBe('http://192.0.2.7:8080');
  });

  it('that is accepted and forgotten is a failure in words', { tags: ['extended'] }, async () => {
    bmc.fault = 'ignores-boot';
    const done = await ended(server, await api().setBootOverride({ ...start(), source: 'pxe' }));
    expect(done.error?.code).toBe('BOOT_DEVICE_NOT_SET');
  });
});

describe('the BMC itself', () => {
  beforeEach(() => register());

  it('is restarted, and the operation ends when it answers again', {
    tags: ['extended'],
    timeout: 60_000,
  }, async () => {
    bmc.system.reset('On');
    const done = await ended(server, await api().resetBmc(start()));
    expect(phaseOf(done), done.error?.message).toBe('SUCCEEDED');
    expect(bmc.managerResets).toEqual(['GracefulRestart']);
    expect(bmc.system.power).toBe('On');
  });

  it.each(VENDOR_NAMES)('as of %s has its log cleared', { tags: ['extended'] }, async (vendor) => {
    bmc.becomes(vendor);
    bmc.log.add('a fan failed', 'Critical');
    bmc.log.add('a fan is back', 'OK');
    const done = await ended(server, await api().clearBmcLog(start()));
    expect(phaseOf(done), done.error?.message).toBe('SUCCEEDED');
    expect(bmc.log.entries).toEqual([]);
    expect(done.steps[0]?.message).toBe('2 entries are cleared');
  });

  it('is trusted by the certificate that was seen, also when it has changed, and by no other', async () => {
    await register('standard', 'strange');
    expect((await refusal(api().getPower({ machineId }))).reason).toBe('BMC_CALL_FAILED');
    const seen = await api().getBmcCertificate({ machineId });
    expect(seen).toMatchObject({
      sha256: bmc.fingerprint,
      verified: false,
      trusted: false,
      pinnedSha256: '',
    });
    expect(bmc.requests).toEqual([]);
    const other = await refusal(api().trustBmcCertificate({ machineId, sha256: 'ab'.repeat(32) }));
    expect(other.reason).toBe('BMC_CERTIFICATE_DIFFERS');
    const asked = { machineId, sha256: seen.sha256.toUpperCase(), reason: 'compared on site' };
    expect(await api().trustBmcCertificate(asked)).toMatchObject({
      trusted: true,
      pinnedSha256: seen.sha256,
    });
    expect((await api().getPower({ machineId })).power).toBe('off');
    const pinned = (await eventsOf(machineId)).find(({ comment }) => comment === 'compared on site');
    expect(pinned?.changes.map(({ field, after }) => [field, after])).toEqual([
      ['spec.bmc_certificate_sha256', seen.sha256],
    ]);
    const changed = authority.issue({ name: 'changed', names: ['127.0.0.1'], purpose: 'server' });
    const { port } = bmc;
    await bmc.stop();
    bmc = await RedfishSimulator.start({ port, tls: changed, password: PASSWORD });
    expect((await refusal(api().getPower({ machineId }))).reason).toBe('BMC_CALL_FAILED');
    const now = await api().getBmcCertificate({ machineId });
    expect(now).toMatchObject({ sha256: bmc.fingerprint, pinnedSha256: seen.sha256, trusted: false });
    await api().trustBmcCertificate({ machineId, sha256: now.sha256 });
    expect((await api().getPower({ machineId })).power).toBe('off');
  });

  it('is for callers of its scope, and each verb for its role', async () => {
    const as = async (role: string, scope = '') => {
      const { secret } = await server.admin.createToken({ name: fresh(role), role, scope });
      return server.client(BmcService, secret);
    };
    const viewer = await as('viewer');
    const operator = await as('operator');
    expect((await viewer.getPower({ machineId })).power).toBe('off');
    for (const refused of [
      viewer.changePower({ ...start(), action: 'on' }),
      viewer.locateMachine({ machineId }),
      operator.clearBmcLog(start()),
      operator.rotateBmcPassword(start()),
      operator.trustBmcCertificate({ machineId, sha256: bmc.fingerprint }),
    ])
      expect((await refusal(refused)).reason).toBe('PERMISSION_DENIED');
    const outside = await as('admin', 'labels.tenant=other');
    expect((await refusal(outside.getPower({ machineId }))).reason).toBe('MACHINE_NOT_FOUND');
    expect((await refusal(outside.locateMachine({ machineId }))).reason).toBe('MACHINE_NOT_FOUND');
  });
});
