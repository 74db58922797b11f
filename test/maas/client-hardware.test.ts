/** Disks, interfaces, power and events through MaasControl, against a simulated MAAS. */
import { describe, expect, it } from 'vitest';
import { callFor, failureOf, machineWith } from './call.ts';
import {
  at,
  call,
  create,
  DEPLOYMENT,
  maas,
  newMac,
  seen,
  setUpClientSite,
  simulator,
  site,
  untilStatus,
} from './client-site.ts';

setUpClientSite();

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

  it('of a machine that MAAS has twice, or not at all, belongs to no machine', async () => {
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
