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

  const act = async (page: Page, title: string) => {
    await panel(page, 'BMC').getByRole('button', { name: title, exact: true }).click();
    return page.getByRole('dialog', { name: `${title}: ${machineId}` });
  };
  const operationsOf = async (type: string) => {
    const filter = `machine_id = ${machineId} AND type = ${type}`;
    return (await console.server.operations.listOperations({ filter })).operations;
  };

  it('has the BMC locate the machine, and switch it off after its name was typed', async () => {
    const page = await console.open({ path: `/machines/${machineId}/hardware` });
    await panel(page, 'BMC').getByText('as its firmware is set up').waitFor();
    const locate = await act(page, 'Locate');
    await locate.getByLabel(/^How long/).fill('30m');
    await locate.getByText(`ingot locate ${machineId} --for 30m`).waitFor();
    await locate.getByRole('button', { name: 'Locate', exact: true }).click();
    await panel(page, 'BMC')
      .getByText(/^on for \d+ min, by operator:/)
      .waitFor();

    const power = await act(page, 'Change power');
    await power.getByRole('radio', { name: 'cycle' }).check();
    const go = power.getByRole('button', { name: 'Change power', exact: true });
    expect(await go.getAttribute('aria-disabled')).toBe('true');
    await power.getByText('This interrupts what runs on the machine.').waitFor();
    await power.getByRole('textbox', { name: /to confirm$/ }).fill(machineId);
    await power.getByText(`ingot power cycle ${machineId}`).waitFor();
    await go.click();
    await until(async () => (await operationsOf('POWER'))[0]?.status === 'completed');
    // What only admins may do says so.
    const clear = panel(page, 'BMC').getByRole('button', { name: 'Clear hardware log', exact: true });
    expect(await clear.getAttribute('aria-disabled')).toBe('true');
  });

  it('has the BMC cap power, boot from elsewhere, restart, clear its log, be trusted and re-keyed', {
    tags: ['extended'],
    timeout: 90_000,
  }, async () => {
    const page = await console.open({ path: `/machines/${machineId}/hardware`, role: 'admin' });
    const done = async (title: string, step: string) => {
      await page.getByRole('dialog').getByRole('button', { name: title, exact: true }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      const ended = async () =>
        (await operationsOf('BMC')).find(({ steps }) => steps.some(({ name }) => name === step));
      await until(async () => (await ended())?.status === 'completed');
      // The next action has to see that the machine is free.
      const button = panel(page, 'BMC').getByRole('button', { name: title, exact: true });
      await expect.poll(() => button.getAttribute('aria-disabled')).toBeNull();
    };
    const cap = await act(page, 'Set power cap');
    await cap.getByLabel(/^Watts/).fill('many');
    await cap.getByRole('tooltip', { includeHidden: true }).filter({ hasText: 'number of watts' }).waitFor({
      state: 'attached',
    });
    await cap.getByLabel(/^Watts/).fill('450W');
    await done('Set power cap', 'power-cap');
    const boot = await act(page, 'Set boot override');
    await boot.getByRole('radio', { name: 'setup' }).check();
    await done('Set boot override', 'boot-override');
    await page.getByRole('button', { name: 'Refresh what the BMC says' }).click();
    await panel(page, 'BMC')
      .getByText(/^from setup/)
      .waitFor();
    await panel(page, 'BMC')
      .getByText(/^450 W/)
      .waitFor();
    await act(page, 'Reset BMC');
    await done('Reset BMC', 'bmc-reset');
    const log = await act(page, 'Clear hardware log');
    await log.getByRole('textbox', { name: /to confirm$/ }).fill(machineId);
    await done('Clear hardware log', 'clear-log');
    await act(page, 'Rotate BMC password');
    await done('Rotate BMC password', 'rotate-password');
    const trust = await act(page, 'Trust certificate');
    await trust.getByText('SHA-256', { exact: true }).waitFor();
    await expectAccessible(page);
    await trust.getByRole('button', { name: 'Trust certificate', exact: true }).click();
    await trust.waitFor({ state: 'detached' });
    const { spec } = await console.server.machines.getMachine({ machineId });
    expect(spec?.bmcCertificateSha256).toMatch(/^[0-9a-f]{64}$/);
  });

  it('has one row of buttons for the BMC on a phone, with the others in a menu', {
    tags: ['extended'],
  }, async () => {
    const page = await console.open({ path: `/machines/${machineId}/hardware`, role: 'admin', width: 390 });
    const bmc = panel(page, 'BMC');
    const more = bmc.getByRole('button', { name: 'More actions of the BMC' });
    const [first, menu] = await Promise.all([
      bmc.getByRole('button', { name: 'Change power', exact: true }).boundingBox(),
      more.boundingBox(),
    ]);
    expect(menu?.y).toBe(first?.y);
    expect(await bmc.getByRole('button').count()).toBe(3);
    await more.click();
    const list = page.getByRole('list', { name: 'More actions of the BMC' });
    await list.getByRole('button', { name: /^Locate/ }).click();
    await page.getByRole('dialog', { name: `Locate: ${machineId}` }).waitFor();
    await expectAccessible(page);
  });

  it('says why nothing can be asked of a BMC', { tags: ['extended'] }, async () => {
    const { server } = console;
    await server.machines.registerMachine({ machine: { machineId: 'boxed', spec: { provider: 'generic' } } });
    const page = await console.open({ path: '/machines/boxed' });
    await page.getByRole('button', { name: 'More actions' }).click();
    const list = page.getByRole('list', { name: 'More actions' });
    const power = list.getByRole('button', { name: /^Change power/ });
    await expect.poll(() => power.getAttribute('aria-disabled')).toBe('true');
    expect(await power.textContent()).toMatch(/boxed (has no BMC address|does not administer BMCs)/);
  });

  it('counts machines by hardware, and none', { tags: ['extended'] }, async () => {
    await console.server.machines.registerMachine({ machine: { machineId: 'b-quiet-one' } });
    const page = await console.open({ path: '/machines?facets=shown' });
    const facet = page.getByRole('region', { name: 'Memory GiB' });
    await facet.getByRole('button', { name: '128' }).click();
    await page.getByRole('link', { name: 'b-quiet-one' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: machineId }).waitFor();
    expect(new URL(page.url()).searchParams.get('filter')).toBe('hardware.memory_gib=128');
    await facet.getByRole('button', { name: '128' }).click();
    await facet.getByRole('button', { name: 'none' }).click();
    await page.getByRole('link', { name: 'b-quiet-one' }).waitFor();
    await page.getByRole('region', { name: 'GPU', exact: true }).waitFor();
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
