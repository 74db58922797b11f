/** Everything that MaasControl can do, over real HTTP against a simulated MAAS in a process of its own. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { MaasControl, MaasMachine, MaasStatus } from '../../src/providers/maas/maas-control.ts';
import { type MaasSimulator, startMaasSimulator } from '../parts/maas/simulator.ts';
import { until } from '../parts/until.ts';
import { BMC_PASSWORD, callFor, failureOf, maasAt, machineWith, type TestMaas } from './call.ts';

const SPEED = 3000;
let simulator: MaasSimulator;
let site: TestMaas;
let maas: MaasControl;
let lastMac = 0;

beforeAll(async () => {
  simulator = await startMaasSimulator({ speed: SPEED, minKeepaliveMs: 50 });
  site = maasAt(simulator);
  maas = site.maas;
});
afterAll(async () => {
  site.remove();
  await simulator.stop();
});
beforeEach(() => simulator.admin.clearFaults());

const newMac = () => `52:54:00:00:${hex(++lastMac >> 8)}:${hex(lastMac & 255)}`;
const hex = (value: number) => value.toString(16).padStart(2, '0');

const call = callFor();
const DEPLOYMENT = {
  userData: '#cloud-config\n{}\n',
  osystem: 'ubuntu',
  distroSeries: 'noble',
  enableHardwareSync: true,
} as const;
const PLAIN_RELEASE = {
  erase: false,
  secureErase: false,
  quickErase: false,
  comment: 'done with it',
} as const;

function create(mac = newMac()): Promise<MaasMachine> {
  return maas.create(call, {
    hostname: `node-${lastMac}`,
    architecture: 'amd64/generic',
    macAddresses: [mac],
    ...maas.site.resolvePower(machineWith({ bmc_endpoint: '10.0.0.7' })),
  });
}

async function seen(systemId: string): Promise<MaasMachine> {
  const machine = await maas.read(call, systemId);
  if (!machine) throw new Error(`${systemId} is gone`);
  return machine;
}

async function untilStatus(systemId: string, status: MaasStatus): Promise<MaasMachine> {
  return until(
    () => seen(systemId),
    (machine) => machine.status === status,
  );
}

async function at(status: string, mac = newMac()): Promise<string> {
  return (await simulator.admin.addMachine({ mac_addresses: [mac], status })).system_id;
}

describe('machines', () => {
  it('are added as New, with the power credentials of the site', async () => {
    const machine = await create('52:54:00:AA:00:01');
    expect(machine).toMatchObject({ status: 'New', power: 'off', macAddresses: ['52:54:00:aa:00:01'] });
    expect(await simulator.admin.machine(machine.systemId)).toMatchObject({
      power_type: 'ipmi',
      power_parameters: {
        power_address: '10.0.0.7',
        power_user: 'admin',
        power_pass: BMC_PASSWORD,
        power_driver: 'LAN_2_0',
      },
    });
  });

  it('are found by any of their addresses, and once', async () => {
    const macs = [newMac(), newMac()];
    const { system_id: id } = await simulator.admin.addMachine({ mac_addresses: macs });
    const found = await maas.findByMac(call, [...macs.map((mac) => mac.toUpperCase()), newMac()]);
    expect(found.map(({ systemId }) => systemId)).toEqual([id]);
    expect(await maas.findByMac(call, [newMac()])).toEqual([]);
    expect(await maas.findByMac(call, [])).toEqual([]);
  });

  it('are all found where two have the same address', async () => {
    const mac = newMac();
    await at('New', mac);
    await simulator.admin.fault({ fault: 'conflicting_candidates', mac });
    expect(await maas.findByMac(call, [mac])).toHaveLength(2);
  });

  it('with an address that another has are refused', async () => {
    const mac = newMac();
    await at('New', mac);
    const failure = await failureOf(create(mac));
    expect(failure).toMatchObject({ class: 'needs_human', code: 'MAAS_REFUSED' });
    expect(failure.message).toContain('already in use');
  });

  it('are read one by one and in lists of many', async () => {
    const macs = Array.from({ length: 120 }, () => newMac());
    const ids = await Promise.all(macs.map((mac) => at('Ready', mac)));
    const before = (await simulator.admin.requests()).length;
    const byId = await maas.list(call, [...ids, 'nobody']);
    expect(byId.machines.map(({ systemId }) => systemId).sort()).toEqual([...ids].sort());
    const byMac = await maas.listByMac(call, [...macs, newMac()]);
    expect(byMac.machines.map(({ systemId }) => systemId).sort()).toEqual([...ids].sort());
    expect([byId.unread, byMac.unread]).toEqual([[], []]);
    const asked = (await simulator.admin.requests()).slice(before);
    expect(asked).toHaveLength(4);
    expect(Math.max(...asked.map(({ query }) => query.length))).toBeLessThan(6_100);
    expect(await maas.read(call, 'nobody')).toBeNull();
    expect(await maas.list(call, [])).toEqual({ machines: [], unread: [] });
  });

  it('have every status of MAAS by its name', async () => {
    const names = [
      'New',
      'Missing',
      'Reserved',
      'Retired',
      'Broken',
      'Releasing failed',
      'Failed testing',
      'Testing',
    ];
    for (const name of names) expect((await seen(await at(name))).status).toBe(name);
  });

  it('are removed, and a second time it is fine', async () => {
    const id = await at('Ready');
    await maas.remove(call, id);
    expect(await maas.read(call, id)).toBeNull();
    await maas.remove(call, id);
  });

  it('of a name that no MAAS makes are not asked for', async () => {
    const before = (await simulator.admin.requests()).length;
    expect(await failureOf(maas.read(call, '../users'))).toMatchObject({ class: 'needs_human' });
    expect(await simulator.admin.requests()).toHaveLength(before);
  });
});

describe('the life of a machine', () => {
  it('goes from New over Ready and Deployed back to Ready', async () => {
    const { systemId } = await create();
    await maas.commission(call, systemId);
    expect((await seen(systemId)).status).toBe('Commissioning');
    const ready = await untilStatus(systemId, 'Ready');
    expect(ready.bootDiskId).not.toBeNull();
    await maas.deploy(call, systemId, DEPLOYMENT);
    expect((await seen(systemId)).status).toBe('Deploying');
    const deployed = await untilStatus(systemId, 'Deployed');
    expect(deployed.power).toBe('on');
    expect((await simulator.admin.machine(systemId)).user_data).toBe(DEPLOYMENT.userData);
    await maas.release(call, systemId, { ...PLAIN_RELEASE, erase: true, quickErase: true });
    expect((await seen(systemId)).status).toBe('Disk erasing');
    expect((await untilStatus(systemId, 'Ready')).power).toBe('off');
  });

  it('can be stopped while it is commissioned or deployed, and nowhere else', async () => {
    await simulator.admin.setSpeed(1);
    const { systemId } = await create();
    await maas.commission(call, systemId);
    await maas.abort(call, systemId, 'not now');
    expect((await seen(systemId)).status).toBe('New');
    const other = await at('Ready');
    await maas.deploy(call, other, DEPLOYMENT);
    await maas.abort(call, other, 'not now');
    expect((await seen(other)).status).toBe('Allocated');
    await simulator.admin.setSpeed(SPEED);
    const failure = await failureOf(maas.abort(call, other, 'not now'));
    expect(failure).toMatchObject({ class: 'retryable', code: 'MAAS_CONFLICT' });
    expect(failure.message).toContain('is in state Allocated');
  });

  it('is released without a word where it is Ready already', async () => {
    const id = await at('Ready');
    await maas.release(call, id, PLAIN_RELEASE);
    expect((await seen(id)).status).toBe('Ready');
  });

  it('ends as Broken where somebody says so', async () => {
    const id = await at('Deployed');
    await maas.markBroken(call, id, 'fan 3 is dead');
    expect(await seen(id)).toMatchObject({ status: 'Broken', statusMessage: 'fan 3 is dead' });
    expect(await failureOf(maas.markBroken(call, await at('Ready'), 'x'))).toMatchObject({
      code: 'MAAS_FORBIDDEN',
    });
  });

  it('is refused with the words of MAAS where the wish is wrong', async () => {
    const id = await at('Ready');
    const failure = await failureOf(maas.deploy(call, id, { ...DEPLOYMENT, distroSeries: 'warty' }));
    expect(failure).toMatchObject({ class: 'needs_human', code: 'MAAS_REFUSED' });
    expect(failure.message).toContain("'ubuntu/warty' is not a valid distro_series");
    expect(failure.message).toContain('(deploy');
  });

  it('is a conflict where the machine is not in a state for it, and a missing one needs a human', async () => {
    expect(await failureOf(maas.deploy(call, await at('New'), DEPLOYMENT))).toMatchObject({
      class: 'retryable',
      code: 'MAAS_CONFLICT',
    });
    expect(await failureOf(maas.commission(call, 'gone42'))).toMatchObject({
      class: 'needs_human',
      code: 'MAAS_NOT_FOUND',
    });
  });
});

describe('whose a machine is', () => {
  const given = (owner: string) =>
    at('Deployed').then(async (id) => {
      await simulator.admin.changeMachine(id, { owner });
      return id;
    });

  it('is asked once for each key, and only where somebody has it', async () => {
    const own = maasAt(simulator);
    const before = (await simulator.admin.requests()).length;
    for (const id of [await at('Deployed'), await at('Deployed')])
      await own.maas.release(call, id, PLAIN_RELEASE);
    const asked = (await simulator.admin.requests()).slice(before).filter(({ op }) => op === 'whoami');
    expect(asked).toHaveLength(1);
    expect(await own.maas.whoAmI(call)).toEqual({ username: 'ingot', isAdmin: true });
    own.remove();
  });

  it('stops a deployment, a release and an abort before they are sent', async () => {
    const id = await given('alice');
    const before = (await simulator.admin.requests()).length;
    for (const work of [
      maas.release(call, id, PLAIN_RELEASE),
      maas.deploy(call, id, DEPLOYMENT),
      maas.abort(call, id, ''),
    ]) {
      const failure = await failureOf(work);
      expect(failure).toMatchObject({ class: 'needs_human', code: 'MAAS_MACHINE_OWNED' });
      expect(failure.message).toContain('belongs to alice in site-a, and we are ingot there');
    }
    const sent = (await simulator.admin.requests()).slice(before);
    expect(sent.every(({ method }) => method === 'GET')).toBe(true);
  });

  describe('where what answers does not say who we are', () => {
    const strange = async (settings: Readonly<Record<string, unknown>> = {}) => {
      await simulator.admin.fault({ fault: 'not_found', path: 'users/', times: null });
      return maasAt(simulator, settings);
    };
    afterEach(() => simulator.admin.clearFaults());

    it('what anyone has counts as another user’s, and the refusal says what to configure', async () => {
      const { maas: unknown, remove } = await strange();
      const id = await given('ingot');
      for (const work of [
        unknown.release(call, id, PLAIN_RELEASE),
        unknown.abort(call, id, ''),
        unknown.remove(call, id),
      ]) {
        const failure = await failureOf(work);
        expect(failure).toMatchObject({ class: 'needs_human', code: 'MAAS_MACHINE_OWNED' });
        expect(failure.message).toContain('belongs to ingot in site-a, which does not say who we are');
        expect(failure.message).toContain('username');
      }
      expect((await seen(id)).status).toBe('Deployed');
      remove();
    });

    it('the configuration may name us', async () => {
      const { maas: named, remove } = await strange({ username: 'ingot' });
      await named.release(call, await given('ingot'), PLAIN_RELEASE);
      expect(await failureOf(named.release(call, await given('alice'), PLAIN_RELEASE))).toMatchObject({
        code: 'MAAS_MACHINE_OWNED',
      });
      remove();
    });

    it('a MAAS that does say so is believed before the configuration', async () => {
      const { maas: named, remove } = maasAt(simulator, { username: 'alice' });
      expect(await failureOf(named.release(call, await given('alice'), PLAIN_RELEASE))).toMatchObject({
        code: 'MAAS_MACHINE_OWNED',
      });
      remove();
    });

    it.each(['deploy', 'commission'] as const)(
      'whom MAAS names as the owner of what we %s is us, and no one else is',
      async (op) => {
        const { maas: learning, remove } = await strange();
        const [ours, alices] = [await given('ingot'), await given('alice')];
        if (op === 'deploy') await learning.deploy(call, await at('Ready'), DEPLOYMENT);
        else await learning.commission(call, await at('Ready'));
        await learning.release(call, ours, PLAIN_RELEASE);
        expect(await failureOf(learning.release(call, alices, PLAIN_RELEASE))).toMatchObject({
          code: 'MAAS_MACHINE_OWNED',
        });
        remove();
      },
    );

    it('is asked again, so that one strange answer does not count for ever', async () => {
      const { maas: patient, remove } = await strange();
      const id = await given('ingot');
      await failureOf(patient.release(call, id, PLAIN_RELEASE));
      await simulator.admin.clearFaults();
      await patient.release(call, id, PLAIN_RELEASE);
      remove();
    });

    it('a lock counts as ever', async () => {
      const { maas: unknown, remove } = await strange({ username: 'ingot' });
      const { system_id: locked } = await simulator.admin.addMachine({
        ...{ mac_addresses: [newMac()], status: 'Deployed', locked: true },
      });
      expect(await failureOf(unknown.release(call, locked, PLAIN_RELEASE))).toMatchObject({
        code: 'MAAS_MACHINE_LOCKED',
      });
      remove();
    });
  });

  it('stops a removal, too', async () => {
    const id = await given('alice');
    expect(await failureOf(maas.remove(call, id))).toMatchObject({ code: 'MAAS_MACHINE_OWNED' });
    expect((await seen(id)).status).toBe('Deployed');
  });
});

describe('storage', () => {
  it('boots from the disk that the site wants', async () => {
    const id = await at('Ready');
    const disks = await maas.disks(call, id);
    const [wanted] = disks.filter((disk) => maas.site.isBootDisk(disk));
    expect(wanted).toMatchObject({ name: 'sda', model: 'DELLBOSS VD', sizeBytes: 480_000_000_000 });
    const diskId = wanted?.id ?? 0;
    expect((await seen(id)).bootDiskId).not.toBe(diskId);
    await maas.setBootDisk(call, id, diskId);
    await maas.setFlatLayout(call, id, diskId);
    expect((await seen(id)).bootDiskId).toBe(diskId);
    expect(await simulator.admin.machine(id)).toMatchObject({ boot_disk_id: diskId, root_disk_id: diskId });
  });

  it('has no such disk where there is none', async () => {
    const mac = newMac();
    await simulator.admin.fault({ fault: 'no_boss_disk', mac, times: null });
    const { systemId } = await create(mac);
    await maas.commission(call, systemId);
    await untilStatus(systemId, 'Ready');
    const disks = await maas.disks(call, systemId);
    expect(disks).toHaveLength(2);
    expect(disks.some((disk) => maas.site.isBootDisk(disk))).toBe(false);
  });
});

describe('the boot interface', () => {
  it('becomes AUTO, with no other link beside it', async () => {
    const id = await at('Ready');
    const before = (await seen(id)).bootInterface;
    expect(before).toMatchObject({ linkMode: 'dhcp', subnetId: 1 });
    await maas.linkAuto(call, id, before?.id ?? 0);
    expect((await seen(id)).bootInterface).toMatchObject({ linkMode: 'auto', subnetId: 1 });
    const requests = await simulator.admin.requests();
    await maas.linkAuto(call, id, before?.id ?? 0);
    const again = (await simulator.admin.requests()).slice(requests.length);
    expect(again.map(({ method }) => method)).toEqual(['GET']);
  });

  it('is finished where the old link was left behind', async () => {
    const id = await at('Ready');
    const nic = (await seen(id)).bootInterface?.id ?? 0;
    // The second write of it, which takes the old link away, is lost.
    await simulator.admin.fault({ fault: 'error', op: 'unlink_subnet' });
    expect(await failureOf(maas.linkAuto(call, id, nic))).toMatchObject({ class: 'retryable' });
    await maas.linkAuto(call, id, nic);
    expect((await seen(id)).bootInterface?.linkMode).toBe('auto');
    const links = (await simulator.admin.requests()).filter(({ op }) => op === 'link_subnet');
    expect(links.length).toBeGreaterThan(0);
  });

  it('finds its subnet by its VLAN where it has no link', async () => {
    const { system_id: id } = await simulator.admin.addMachine({ mac_addresses: [newMac()] });
    const nic = (await seen(id)).bootInterface;
    expect(nic).toMatchObject({ linkMode: null, subnetId: null });
    await maas.linkAuto(call, id, nic?.id ?? 0);
    expect((await seen(id)).bootInterface).toMatchObject({ linkMode: 'auto', subnetId: 1 });
  });

  it('stays wrong where MAAS does not do it', async () => {
    const id = await at('Ready');
    await simulator.admin.fault({ fault: 'pxe_stays_wrong', system_id: id, times: null });
    await maas.linkAuto(call, id, (await seen(id)).bootInterface?.id ?? 0);
    expect((await seen(id)).bootInterface?.linkMode).toBe('dhcp');
  });
});

describe('events', () => {
  it('come newest first, those of an installation among them', async () => {
    const id = await at('Ready');
    await maas.deploy(call, id, DEPLOYMENT);
    await untilStatus(id, 'Deployed');
    const events = await maas.events(call, id, 100);
    expect(events[0]).toMatchObject({ level: 'INFO', type: 'Deployed' });
    expect(events.map(({ description }) => description)).toContain(
      "'cloudinit' searching for network data from DataSourceMAAS",
    );
    expect(Math.abs(Date.parse(events[0]?.at ?? '') - Date.now())).toBeLessThan(60_000);
    expect(await maas.events(call, id, 2)).toEqual(events.slice(0, 2));
    expect(await maas.events(call, await at('New'), 100)).toEqual([]);
  });

  it('are read page by page where there are more than MAAS gives at once', async () => {
    const { system_id: id } = await simulator.admin.addMachine({ mac_addresses: [newMac()], events: 2_500 });
    const before = (await simulator.admin.requests()).length;
    const events = await maas.events(call, id, 5_000);
    expect(new Set(events.map((event) => event.id)).size).toBe(2_500);
    expect(events.map((event) => event.id)).toEqual(events.map((event) => event.id).sort((a, b) => b - a));
    expect((await simulator.admin.requests()).length - before).toBe(3);
    expect(await maas.events(call, id, 1_500)).toEqual(events.slice(0, 1_500));
  });
});

describe('power', () => {
  const machineOf = (mac: string) => callFor({ machine: machineWith({ mac_addresses: [mac] }) });

  it('is switched off and on, and seen', async () => {
    const mac = newMac();
    await at('Deployed', mac);
    const onIt = machineOf(mac);
    expect(await site.power.bootState(onIt)).toMatchObject({ power: 'on', bootId: null });
    await site.power.switchPower?.(onIt, 'off');
    await expect.poll(async () => (await site.power.bootState(onIt)).power).toBe('off');
    await site.power.switchPower?.(onIt, 'on');
    await expect.poll(async () => (await site.power.bootState(onIt)).power).toBe('on');
    await site.power.shutDown(onIt);
    await expect.poll(async () => (await site.power.bootState(onIt)).power).toBe('off');
  });

  it('on would deploy a machine that is Allocated, so it is not', async () => {
    const mac = newMac();
    const id = await at('Allocated', mac);
    const failure = await failureOf(Promise.resolve(site.power.switchPower?.(machineOf(mac), 'on')));
    expect(failure).toMatchObject({ class: 'permanent', code: 'MAAS_NOT_DEPLOYED' });
    expect((await seen(id)).status).toBe('Allocated');
  });

  it('of a BMC that does not answer MAAS is not known', async () => {
    const mac = newMac();
    const id = await at('Deployed', mac);
    await simulator.admin.fault({ fault: 'bmc_silent', system_id: id, times: null });
    expect(await failureOf(site.power.bootState(machineOf(mac)))).toMatchObject({
      class: 'retryable',
      code: 'MAAS_POWER_UNKNOWN',
    });
    await simulator.admin.clearFaults();
  });

  it('is taken by probes as it was recorded, and MAAS is asked nothing', async () => {
    const { signal } = call;
    const recorded = (power: string) => {
      const { machine } = machineOf(newMac());
      const observed = { source: machine.spec.provider, state: 'Deployed', power, upstreamId: 'abc', at: '' };
      return { ...machine, observed };
    };
    const before = (await simulator.admin.requests()).length;
    expect(await site.inspect.bmc(recorded('error'), signal)).toMatchObject({
      ok: false,
      reason: 'NoAnswer',
    });
    expect(await site.inspect.bmc(recorded('off'), signal)).toMatchObject({ ok: true });
    expect(await site.inspect.bmc(recorded('unknown'), signal)).toBeNull();
    expect(await site.inspect.bmc(machineOf(newMac()).machine, signal)).toBeNull();
    expect(await site.inspect.host(recorded('on'), signal)).toBeNull();
    expect((await simulator.admin.requests()).length).toBe(before);
  });

  it('of a machine that MAAS has twice, or not at all, is nobody’s', async () => {
    const mac = newMac();
    expect(await failureOf(site.power.bootState(machineOf(mac)))).toMatchObject({
      class: 'needs_human',
      code: 'MAAS_MACHINE_MISSING',
    });
    await simulator.admin.fault({ fault: 'conflicting_candidates', mac });
    expect(await failureOf(site.power.bootState(machineOf(mac)))).toMatchObject({
      class: 'needs_human',
      code: 'MAAS_MACHINE_AMBIGUOUS',
    });
  });
});

describe('hardware sync', () => {
  it('is healthy once the machine has reported, and not where it does not', async () => {
    const [well, ill] = [await at('Ready'), await at('Ready')];
    await simulator.admin.fault({ fault: 'hardware_sync_failing', system_id: ill, times: null });
    await maas.deploy(call, well, DEPLOYMENT);
    await maas.deploy(call, ill, DEPLOYMENT);
    await untilStatus(ill, 'Deployed');
    await expect.poll(async () => (await seen(well)).hardwareSync.isHealthy).toBe(true);
    expect((await seen(ill)).hardwareSync).toEqual({ enabled: true, isHealthy: false, lastSync: null });
  });
});
