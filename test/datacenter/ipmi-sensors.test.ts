// @module-tag extended: src/providers/datacenter has the parsers.
/** Sensors and the event log of a real BMC over IPMI, read by a server on a schedule. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HardwareService } from '../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { fresh } from '../api/fleet.ts';
import { needs } from '../parts/debian-packages.ts';
import { type IpmiBmc, startBmc } from '../parts/ipmi.ts';
import { addEntry, IPMI_SENSORS, UNCORRECTABLE_ECC, WATCHDOG_RESET } from '../parts/ipmi-sensors.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { bmcFields, unusedKey } from './bmc-site.ts';

const programs = needs('ipmi');

describe.skipIf(programs.isMissing)(programs.title('sensors over IPMI'), () => {
  let bmc: IpmiBmc;
  let server: TestServer;
  const machineId = fresh('ipmi');
  const key = unusedKey();

  beforeAll(async () => {
    bmc = await startBmc({ sensors: IPMI_SENSORS });
    bmc.send('sel', 'time', 'set', 'now');
    const configuration = datacenterConfiguration.parse({
      kind: 'datacenter',
      ssh: { user: 'root', private_key_file: key.file, insecure_accept_any: true },
      bmc: bmcFields(bmc),
    });
    server = await startTestServer({ providers: { 'dc-1': configuration }, sensors: { intervalSeconds: 1 } });
    const spec = { provider: 'dc-1', bmcEndpoint: bmc.endpoint };
    await server.machines.registerMachine({ machine: { machineId, spec } });
  });
  afterAll(async () => {
    await server?.stop();
    await bmc?.stop();
    key.remove();
  });

  const hardware = () => server.client(HardwareService, server.adminToken);
  const log = async () => (await hardware().listHardwareLog({ machineId })).entries;

  it('are read with their limits', async () => {
    const { sensors, problem } = await until(
      () => hardware().listSensors({ machineId }),
      ({ readAt, problem: why }) => readAt ?? why,
    );
    expect(problem).toBe('');
    expect(
      sensors.map(({ name, kind, value, unit, health }) => ({ name, kind, value, unit, health })),
    ).toEqual([
      { name: 'CPU1 Temp', kind: 'temperature', value: 55, unit: '°C', health: 'OK' },
      { name: 'FAN1', kind: 'fan', value: 8400, unit: 'RPM', health: 'OK' },
      { name: 'Total Power', kind: 'power', value: 300, unit: 'W', health: 'OK' },
    ]);
    expect(sensors[0]).toMatchObject({ highWarning: 80, highCritical: 90 });
  });

  it('entries of the log are found once each, and a log that was cleared does not hide them', async () => {
    bmc.send(...addEntry(UNCORRECTABLE_ECC));
    const [first] = await until(log, ({ length }) => length === 1);
    expect(first).toMatchObject({
      severity: 'Critical',
      category: 'memory_uncorrectable',
      message: 'Memory #0x53: Uncorrectable ECC',
    });
    expect(Math.abs(Number(first?.at?.seconds ?? 0n) - Date.now() / 1000)).toBeLessThan(120);
    bmc.send(...addEntry(WATCHDOG_RESET));
    await until(log, ({ length }) => length === 2);
    bmc.send('sel', 'clear');
    bmc.send(...addEntry(WATCHDOG_RESET));
    const entries = await until(log, ({ length }) => length === 3);
    expect(entries.map(({ category }) => category)).toEqual(['reboot', 'reboot', 'memory_uncorrectable']);
    const { score, reasons } = await until(
      () => hardware().getLemonScore({ machineId }),
      ({ score: points }) => points === 36,
    );
    expect({ score, reasons }).toEqual({
      score: 36,
      reasons: ['1 uncorrectable memory error (20 points)', '2 unexpected reboots (16 points)'],
    });
  });
});
