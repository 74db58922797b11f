// @module-tag extended: cli/hardware.test.ts and src/domain/hardware have scores and logs; this reads them from BMCs on a schedule.
/** Sensors, health and logs of BMCs, read on a schedule by a real server: from simulated Redfish BMCs of several vendors. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { HardwareService } from '../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { ended, fresh, phaseOf } from '../api/fleet.ts';
import { testAuthority } from '../parts/certificates.ts';
import type { RedfishSimulator } from '../parts/redfish/simulator.ts';
import { VENDOR_NAMES, type VendorName } from '../parts/redfish/vendor-shape.ts';
import { refusal, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { type RedfishSite, startRedfishSite } from './redfish-site.ts';

const authority = testAuthority();
let site: RedfishSite;
let server: TestServer;
let bmc: RedfishSimulator | null = null;
let machineId: string;

beforeAll(async () => {
  site = await startRedfishSite(authority, { sensors: { intervalSeconds: 1 } });
  server = site.server;
});
afterEach(async () => {
  // Not read any more.
  await server.sql(`UPDATE machine_sensors SET due_at = now() + interval '1 day' WHERE machine_id = $1`, [
    machineId,
  ]);
  await bmc?.stop();
  bmc = null;
});
afterAll(async () => {
  await site?.stop();
  authority.remove();
});

async function startMachine(vendor: VendorName = 'standard', prepare?: (made: RedfishSimulator) => void) {
  const made = await site.startBmc(vendor);
  bmc = made;
  prepare?.(made);
  machineId = fresh('metal');
  const spec = { provider: 'dc', bmcEndpoint: made.url };
  await server.machines.registerMachine({ machine: { machineId, spec } });
  return made;
}

const hardware = () => server.client(HardwareService, server.adminToken);
const sensors = () => hardware().listSensors({ machineId });
const wasRead = () => until(async () => (await sensors()).readAt);
const log = async () => (await hardware().listHardwareLog({ machineId })).entries;

async function events() {
  const filter = `machine_id="${machineId}" AND kind=hardware`;
  const found = await server.client(FleetService, server.adminToken).listEvents({ filter });
  return found.events.map(({ subject, from, to, comment }) => ({ subject, from, to, comment }));
}

describe('a machine with a Redfish BMC', () => {
  it('has its sensors with limits, the health of its components, and a history', async () => {
    const made = await startMachine();
    await wasRead();
    const found = await sensors();
    expect(found.problem).toBe('');
    expect(found.sensors.find(({ name }) => name === 'CPU1 Temp')).toMatchObject({
      kind: 'temperature',
      value: 41,
      unit: '°C',
      health: 'OK',
      highWarning: 85,
      highCritical: 95,
    });
    expect(found.sensors.map(({ name, kind }) => `${kind} ${name}`)).toEqual([
      'temperature CPU1 Temp',
      'temperature CPU2 Temp',
      'temperature Inlet Temp',
      'fan FAN1',
      'fan FAN2',
      'power System Power',
      'voltage 12V',
      'power PSU.1',
      'power PSU.2',
    ]);
    expect(found.components).toEqual(
      expect.arrayContaining([expect.objectContaining({ component: 'PSU.1', health: 'OK' })]),
    );
    made.sensors.temperatures['CPU1 Temp'] = 66;
    const course = await until(async () => {
      const { series } = await hardware().getSensorHistory({ machineId, names: ['CPU1 Temp'], hours: 1 });
      const values = series[0]?.points.map(({ value }) => value) ?? [];
      return values.at(-1) === 66 ? values : null;
    });
    expect(course?.length).toBeGreaterThan(0);
    // It was only read.
    expect(made.changes()).toEqual([]);
  });

  it('has an event for a component whose health changes', async () => {
    const made = await startMachine();
    await wasRead();
    made.sensors.health['PSU.2'] = 'Critical';
    const found = await until(async () => (await events()).find(({ subject }) => subject === 'PSU.2'));
    expect(found).toEqual({
      subject: 'PSU.2',
      from: 'OK',
      to: 'Critical',
      comment: 'the BMC reports PSU.2 as Critical',
    });
  });

  it('has each new entry of its log once, as an entry and as an event, and notices that the log was cleared', async () => {
    const made = await startMachine('standard', ({ log: its }) => {
      its.add('Power on', 'OK', { at: new Date('2020-01-01T00:00:00Z') });
    });
    await until(async () => (await log()).length === 1);
    made.log.add('Uncorrectable ECC error on DIMM A3', 'Critical', { sensor: 'Memory' });
    await until(async () => (await log()).length === 2);
    made.log.clear();
    await until(async () => (await events()).some(({ to }) => to === 'cleared'));
    made.log.add('Fan 2 is back', 'OK');
    await until(async () => (await log()).length === 3);
    expect(
      (await log()).map(({ entryId, severity, category, message }) => [entryId, severity, category, message]),
    ).toEqual([
      ['1', 'OK', 'thermal', 'Fan 2 is back'],
      ['2', 'Critical', 'memory_uncorrectable', 'Uncorrectable ECC error on DIMM A3'],
      ['1', 'OK', 'other', 'Power on'],
    ]);
    expect((await events()).filter(({ subject }) => subject === 'log')).toEqual([
      { subject: 'log', from: '', to: 'OK', comment: 'Fan 2 is back' },
      { subject: 'log', from: '', to: 'cleared', comment: 'the hardware log was cleared; it had 2 entries' },
      { subject: 'log', from: '', to: 'Critical', comment: 'Uncorrectable ECC error on DIMM A3' },
      {
        subject: 'log',
        from: '',
        to: 'read',
        comment: 'the hardware log was read for the first time; it has 1 entry',
      },
    ]);
    const { entries } = await hardware().listHardwareLog({ machineId, severity: 'Critical' });
    expect(entries).toHaveLength(1);
    // An uncorrectable error is worth 20 points.
    const score = await until(async () => {
      const lemon = await hardware().getLemonScore({ machineId });
      return lemon.score === 20 ? lemon : null;
    });
    expect(score?.reasons).toEqual(['1 uncorrectable memory error (20 points)']);
    const { lemons } = await hardware().listLemons({ filter: 'hardware.lemon_score>=20' });
    expect(lemons.map((lemon) => lemon.machineId)).toContain(machineId);
  });

  it('is not read while something else uses its BMC, and an operation does not wait for a reading', async () => {
    const made = await startMachine();
    await wasRead();
    made.fault = 'slow';
    const before = made.requests.length;
    await until(() => made.requests.length > before);
    made.fault = null;
    const operation = await hardware().inspectMachine({ machineId, requestId: fresh('r') });
    expect(phaseOf(await ended(server, operation))).toBe('SUCCEEDED');
    expect(made.mostAtOnce).toBeLessThanOrEqual(2);
  });

  it('says why its sensors are not read, and keeps what is known', async () => {
    const made = await startMachine();
    await wasRead();
    made.fault = 'web-page';
    const found = await until(async () => {
      const answer = await sensors();
      return answer.problem === '' ? null : answer;
    });
    expect(found?.sensors).toHaveLength(9);
    expect(found?.problemSince).toBeDefined();
  });
});

it.each(VENDOR_NAMES)('is read in the shape of %s', { tags: ['extended'] }, async (vendor) => {
  await startMachine(vendor, ({ log: its }) => {
    for (let count = 1; count <= 7; count += 1) its.add(`Entry of ${vendor} ${count}`, 'Warning');
  });
  await wasRead();
  const found = await sensors();
  expect(found.sensors.find(({ name }) => name === 'CPU2 Temp')).toMatchObject({
    kind: 'temperature',
    value: 43,
  });
  expect(found.sensors.find(({ name }) => name === 'FAN1')).toMatchObject({
    kind: 'fan',
    value: 8400,
    unit: 'RPM',
  });
  expect(found.sensors.some(({ kind, value }) => kind === 'power' && value === 412)).toBe(true);
  expect((await log()).map(({ entryId }) => entryId)).toEqual(['7', '6', '5', '4', '3', '2', '1']);
});

it('refuses what is no kind, no severity and no time', async () => {
  await startMachine();
  expect(await refusal(hardware().listSensors({ machineId, kind: 'smell' }))).toMatchObject({
    reason: 'INVALID_FIELD',
  });
  expect(await refusal(hardware().listHardwareLog({ severity: 'Bad' }))).toMatchObject({
    reason: 'INVALID_FIELD',
  });
  expect(await refusal(hardware().getSensorHistory({ machineId, hours: 25 }))).toMatchObject({
    reason: 'INVALID_FIELD',
  });
});
