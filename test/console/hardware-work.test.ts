/** The hardware of a machine in the browser: what it is, what became of its disks, and the work on it. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newMachine } from '../api/fleet.ts';
import { boot, createNode, nodeOf, report, setState } from '../nodes/rest.ts';
import { CHROMIUM, Console, expectAccessible, screenshot } from './console.ts';

describe.skipIf(CHROMIUM === null)('the hardware of a machine', () => {
  let console: Console;
  beforeAll(async () => {
    console = await Console.start();
  });
  afterAll(() => console.stop());

  const section = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

  it('is on its page, with what became of each disk and what was not done', async () => {
    const { server } = console;
    const { id, mac } = await createNode(server);
    await server.sql(`UPDATE machines SET install = 'active' WHERE machine_id = $1`, [id]);
    await setState(server, id, 'deprovisioning');
    const { token } = await boot(server, mac);
    const inventory = {
      cpu: { model: 'Fast CPU', sockets: 2, cores: 64, threads: 128 },
      disks: [{ name: 'sda', model: 'Disk <b>', serial_number: 'D1', size_bytes: 1024 ** 4 }],
      nics: [{ name: 'eth0', mac_address: mac, speed_mbps: 25_000, link: true }],
    };
    await report(server, mac, 'started', { inventory }, token);
    const disks = [
      { name: 'nvme0n1', serial: 'N1', method: 'nvme-format', result: 'erased', verified: '0 of 65 marks' },
      {
        name: 'sda',
        method: 'overwrite-partial',
        result: 'partial',
        not_done: 'the 896 GiB between its ends',
      },
    ];
    const skipped = [{ name: 'sdb', reason: 'it is on USB' }];
    await report(server, mac, 'complete', { erase: { disks, skipped } }, token);
    const page = await console.open({ path: `/machines/${id}` });
    const hardware = section(page, 'Hardware');
    for (const text of ['Fast CPU, 2 sockets', 'sda, 1 TiB, Disk <b>, serial D1', mac])
      await hardware.getByText(text).waitFor();
    const erasure = section(page, 'Erasure');
    for (const text of [
      'partly erased',
      'nvme0n1, serial N1',
      'erased by nvme-format',
      'read back: 0 of 65 marks',
      'partial by overwrite-partial',
      'not done: the 896 GiB between its ends',
      'not touched: it is on USB',
    ])
      await erasure.getByText(text).first().waitFor();
    // The history has it in words, not as the data that it was reported in.
    const history = page.locator('.node-history');
    await history.getByText('partly erased: nvme0n1 (serial N1) by nvme-format').waitFor();
    expect(await history.textContent()).not.toContain('{"');
    await screenshot(page, 'machine-erased');
    await expectAccessible(page);
  });

  it('is erased after the name was typed', async () => {
    const machineId = await newMachine(console.server, { labels: { 'fake/step-ms': '20' } });
    await console.server.sql(`UPDATE machines SET install = 'active' WHERE machine_id = $1`, [machineId]);
    const page = await console.open({ path: `/machines/${machineId}` });
    await page.getByRole('button', { name: 'Erase', exact: true }).first().click();
    const dialog = page.getByRole('dialog');
    const go = dialog.getByRole('button', { name: 'Erase', exact: true });
    expect(await go.getAttribute('aria-disabled')).toBe('true');
    await dialog.getByRole('checkbox').check();
    await dialog.getByRole('textbox', { name: `Type ${machineId} to confirm` }).fill(machineId);
    await dialog.getByText(`ingot erase ${machineId} --full-overwrite`).waitFor();
    await go.click();
    await page.getByRole('region', { name: 'Last operation' }).getByText('100%').waitFor();
    const { operations } = await console.server.operations.listOperations({
      filter: `machine_id = ${machineId} AND type = ERASE`,
    });
    expect(operations).toMatchObject([{ status: 'completed' }]);
  });

  it('is replaced by hardware with other addresses, and what is wrong with them is said', async () => {
    const { server } = console;
    const machineId = await newMachine(server, { labels: { 'fake/step-ms': '20' } });
    await server.sql(`UPDATE machines SET install = 'active' WHERE machine_id = $1`, [machineId]);
    const page = await console.open({ path: `/machines/${machineId}` });
    await page.getByRole('button', { name: 'Migrate', exact: true }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: /^MAC addresses/ }).fill('no address');
    const confirm = dialog.getByRole('textbox', { name: `Type ${machineId} to confirm` });
    if ((await confirm.count()) > 0) await confirm.fill(machineId);
    const go = dialog.getByRole('button', { name: 'Migrate', exact: true });
    await go.click();
    await dialog.getByRole('alert').getByText('mac_addresses').waitFor();
    await dialog.getByRole('textbox', { name: /^MAC addresses/ }).fill('52-54-00-AB-CD-01');
    await go.click();
    await page.getByRole('region', { name: 'Last operation' }).getByText('100%').waitFor();
    expect((await server.machines.getMachine({ machineId })).spec?.macAddresses).toEqual([
      '52:54:00:ab:cd:01',
    ]);
    expect((await nodeOf(server, machineId)).mac_address).toBe('52:54:00:ab:cd:01');
  });
});
