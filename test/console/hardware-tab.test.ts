// @module-tag extended: machine-page.test.ts opens the tabs of a machine; hardware/inspection.test.ts has what is shown.
/** The hardware tab of a machine in a browser: slots, score, sensors with charts, log and changes. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HardwareService } from '../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { ended, fresh } from '../api/fleet.ts';
import { until } from '../parts/until.ts';
import { CHROMIUM, Console, expectAccessible, screenshot } from './console.ts';

describe.skipIf(CHROMIUM.isMissing)(CHROMIUM.title('the hardware tab'), () => {
  let console: Console;
  const machineId = 'metal-1';
  beforeAll(async () => {
    console = await Console.start({ sensors: { intervalSeconds: 1 } });
    const { server } = console;
    const machine = { machineId, labels: { 'fake/step-ms': '0' }, spec: { bmcEndpoint: '10.0.0.9' } };
    await server.machines.registerMachine({ machine });
    const hardware = server.client(HardwareService, server.adminToken);
    await ended(server, await hardware.inspectMachine({ machineId, requestId: fresh('r') }));
    const profile = { name: 'eight', match: `machine_id=${machineId}`, expect: ['hardware.gpu.count=8'] };
    await hardware.setHardwareProfile({ profile });
    await until(async () => (await hardware.listSensors({ machineId })).readAt);
    await server.sql(
      `INSERT INTO hardware_log (machine_id, generation, entry_key, entry_id, at, found_at, happened_at, severity, category, sensor, message)
       VALUES ($1, 0, 'k', '7', now(), now(), now(), 'Critical', 'memory_uncorrectable', 'Memory', 'Uncorrectable ECC on DIMM2')`,
      [machineId],
    );
    await server.sql(
      `UPDATE hardware_inventories SET inventory = jsonb_set(jsonb_set(inventory, '{memory,modules,1,health}', '"Critical"'),
         '{empty_slots}', '[{"kind": "memory", "slot": "DIMM5"}]') WHERE machine_id = $1`,
      [machineId],
    );
    await until(async () => (await hardware.getLemonScore({ machineId })).score === 20);
  });
  afterAll(() => console?.stop());

  const panel = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

  it('shows slots with their health, empty ones too, what is expected, the score, sensors, the log and changes', async () => {
    const page = await console.open({ path: `/machines/${machineId}/hardware` });
    const memory = panel(page, 'Memory');
    await memory.getByText('4 of 5').waitFor();
    await memory.getByRole('listitem').filter({ hasText: 'DIMM2' }).getByText('Critical').waitFor();
    await memory.getByRole('listitem').filter({ hasText: 'DIMM5' }).getByText('empty').waitFor();
    await panel(page, 'Expected against found')
      .getByText('eight expects hardware.gpu.count=8, found 0')
      .waitFor();
    await panel(page, 'Lemon score').getByText('1 uncorrectable memory error (20 points)').waitFor();
    const sensors = panel(page, 'Sensors');
    await sensors.getByRole('img', { name: /^CPU2 Temp/ }).waitFor();
    await sensors.getByText('system: OK').waitFor();
    await panel(page, 'Hardware log').getByText('Uncorrectable ECC on DIMM2').waitFor();
    await panel(page, 'Changes of hardware').getByText('first report').waitFor();
    await panel(page, 'Firmware').getByRole('row', { name: /BIOS/ }).waitFor();
    await expectAccessible(page);
    await screenshot(page, 'machine-hardware');
  });

  it('is in the list of machines as columns that it is sorted by', { tags: ['extended'] }, async () => {
    await console.server.machines.registerMachine({ machine: { machineId: 'a-quiet-one' } });
    const columns = 'machine_id,hardware.lemon_score,hardware.memory_gib';
    const page = await console.open({ path: `/machines?columns=${columns}&sort=-hardware.lemon_score` });
    await page.getByRole('row').filter({ hasText: machineId }).getByText('128').waitFor();
    const rows = await page.getByRole('row').allTextContents();
    const [worse, quiet] = [machineId, 'a-quiet-one'].map((id) => rows.findIndex((row) => row.includes(id)));
    expect(worse).toBeLessThan(quiet ?? 0);
  });
});
