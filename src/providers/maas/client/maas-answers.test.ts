import { expect, test } from 'vitest';
import {
  machineAnswer,
  shaped,
  statusOf,
  viewOfEvent,
  viewOfInterface,
  viewOfMachine,
} from './maas-answers.ts';
import { MAAS_STATUSES } from './maas-control.ts';
import { MaasFailure } from './maas-failure.ts';

const ASKED = { maas: 'site-a', doing: 'reading abc123' };
const BARE = { system_id: 'abc123', hostname: 'node', status: 6 };
const NOW = Date.parse('2026-03-01T12:00:00Z');

const machineOf = (fields: Readonly<Record<string, unknown>>) =>
  viewOfMachine(shaped(machineAnswer, { ...BARE, ...fields }, ASKED), NOW);

test('every status has its number, and what MAAS has besides is Unknown', () => {
  const known = Array.from({ length: 30 }, (_, number) => statusOf(number));
  expect(new Set(known)).toEqual(new Set(MAAS_STATUSES));
  for (const rescue of [16, 17, 18, 19, 20, 23, -1]) expect(statusOf(rescue)).toBe('Unknown');
});

test('a machine that MAAS knows nothing of yet is nothing but a name', () => {
  expect(machineOf({ status: 0, power_state: 'unknown', boot_interface: null, boot_disk: null })).toEqual({
    systemId: 'abc123',
    hostname: 'node',
    status: 'New',
    statusMessage: '',
    owner: null,
    locked: false,
    architecture: '',
    image: { osystem: '', distroSeries: '' },
    ipAddresses: [],
    powerType: '',
    power: 'unknown',
    macAddresses: [],
    zone: '',
    pool: '',
    domain: '',
    tags: [],
    minHweKernel: '',
    bootInterface: null,
    addressInterface: null,
    interfaces: [],
    bootDiskId: null,
    hardwareSync: { enabled: false, isHealthy: false, lastSync: null },
  });
});

test('the owner of a machine, whether it is locked and how its power is switched are read', () => {
  expect(machineOf({ owner: 'alice', locked: true, power_type: 'ipmi' })).toMatchObject({
    owner: 'alice',
    locked: true,
    powerType: 'ipmi',
  });
  expect(machineOf({ owner: '', locked: null, power_type: null })).toMatchObject({
    owner: null,
    locked: false,
    powerType: '',
  });
});

test('the address of a machine is on the bond or bridge that its boot interface is part of', () => {
  const nic = (id: number, name: string, type: string, parents: string[], links: unknown[] = []) => ({
    ...{ id, name, type, parents, links, mac_address: '52:54:00:00:00:01' },
  });
  const [eth0, bond0] = [nic(1, 'eth0', 'physical', []), nic(2, 'bond0', 'bond', ['eth0', 'eth1'])];
  const br0 = nic(3, 'br0', 'bridge', ['bond0'], [{ id: 9, mode: 'auto', subnet: { id: 7 } }]);
  const vlan = nic(4, 'bond0.10', 'vlan', ['bond0'], [{ id: 10, mode: 'auto', subnet: { id: 8 } }]);
  const on = (interface_set: unknown[]) => machineOf({ boot_interface: eth0, interface_set });
  expect(on([eth0, vlan]).addressInterface).toMatchObject({ name: 'eth0', linkMode: null });
  expect(on([eth0, bond0, vlan]).addressInterface).toMatchObject({ name: 'bond0', linkMode: null });
  expect(on([eth0, vlan, br0, bond0]).addressInterface).toMatchObject({ name: 'br0', linkMode: 'auto' });
  expect(on([eth0, bond0]).macAddresses).toEqual(['52:54:00:00:00:01']);
  // Whatever MAAS answers, it comes to an end.
  const [one, two] = [nic(1, 'a', 'bond', ['b']), nic(2, 'b', 'bond', ['a'])];
  expect(machineOf({ boot_interface: one, interface_set: [one, two] }).addressInterface).not.toBeNull();
});

test('hardware sync is healthy for one and a half intervals after the last report', () => {
  const at = (last_sync: string) =>
    machineOf({ enable_hw_sync: true, sync_interval: 900, last_sync }).hardwareSync;
  expect(at('2026-03-01T11:37:30.000')).toEqual({
    enabled: true,
    isHealthy: true,
    lastSync: '2026-03-01T11:37:30.000Z',
  });
  expect(at('2026-03-01T11:37:29.000').isHealthy).toBe(false);
  expect(at('2026-03-01T12:59:00+01:00').isHealthy).toBe(true);
  expect(
    machineOf({ enable_hw_sync: true, sync_interval: 900, last_sync: null }).hardwareSync.isHealthy,
  ).toBe(false);
});

test('of several links the one with an address counts', () => {
  const links = [
    { id: 1, mode: 'link_up' },
    { id: 2, mode: 'auto', subnet: { id: 7 } },
  ];
  const nic = { type: 'physical', id: 5, name: 'eth0', mac_address: 'AA:BB:CC:00:00:01', links };
  expect(viewOfInterface(nic)).toEqual({
    id: 5,
    name: 'eth0',
    macAddress: 'aa:bb:cc:00:00:01',
    linkMode: 'auto',
    subnetId: 7,
  });
  expect(viewOfInterface({ ...nic, links: [] })).toMatchObject({ linkMode: null, subnetId: null });
});

test('the time of an event is UTC, whatever the server’s zone', () => {
  const event = { id: 1, level: 'INFO', type: 'x', description: '' };
  expect(viewOfEvent({ ...event, created: 'Fri, 07 Dec. 2018 20:11:08' }).at).toBe(
    '2018-12-07T20:11:08.000Z',
  );
  expect(viewOfEvent({ ...event, created: 'soon' }).at).toBe('');
});

test('an answer of another shape is reported by where it differs, and not by what it holds', () => {
  const read = () => shaped(machineAnswer, { ...BARE, status: 'secret-in-the-wrong-place' }, ASKED);
  expect(read).toThrow(MaasFailure);
  expect(read).toThrow(/at status \(reading abc123\)/);
  expect(read).not.toThrow(/secret-in-the-wrong-place/);
});
