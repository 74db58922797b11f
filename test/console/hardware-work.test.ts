// @module-tag extended: nodes/erasure.test.ts and nodes/migration.test.ts have the same work; reimage.test.ts works in the browser.
/** The hardware of a machine in the browser: its inventory, its erasure, and operations on it. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../api/fleet.ts';
import { boot, createNode, newMac, nodeOf, report, setState } from '../nodes/rest.ts';
import { CHROMIUM, Console, expectAccessible, screenshot } from './console.ts';

describe.skipIf(CHROMIUM.isMissing)(CHROMIUM.title('the hardware of a machine'), () => {
  let console: Console;
  beforeAll(async () => {
    console = await Console.start();
  });
  afterAll(() => console.stop());

  const section = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

  it('is on its page, with the erasure of each disk and what was not done', {
    tags: ['extended'],
  }, async () => {
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
    const page = await console.open({ path: `/machines/${id}/hardware` });
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
    // The history has it as a sentence, not as the reported JSON.
    const history = page.locator('.node-history');
    await history.getByText('partly erased: nvme0n1 (serial N1) by nvme-format').waitFor();
    expect(await history.textContent()).not.toContain('{"');
    await screenshot(page, 'machine-erased');
    await expectAccessible(page);
  });

  const action = async (page: Page, name: string) => {
    await page.getByRole('button', { name: 'More actions' }).click();
    const list = page.getByRole('list', { name: 'More actions' });
    await list.getByRole('button', { name: new RegExp(`^${name}`) }).click();
    return page.getByRole('dialog');
  };

  async function maintainedNode() {
    const node = await createNode(console.server);
    await console.server.sql(`UPDATE machines SET install = 'active' WHERE machine_id = $1`, [node.id]);
    await run(console.server, 'ENTER_MAINTENANCE', node.id);
    return node;
  }

  const ended = (id: string, type: string) =>
    expect
      .poll(
        async () => {
          const filter = `machine_id = ${id} AND type = ${type}`;
          return (await console.server.operations.listOperations({ filter })).operations;
        },
        { timeout: 20_000 },
      )
      .toMatchObject([{ status: 'completed' }]);

  it('is erased after the name was typed', async () => {
    const { id } = await maintainedNode();
    await console.server.machines.updateMachine({
      machine: { machineId: id, spec: { provider: 'fake' } },
      updateMask: { paths: ['spec.provider'] },
    });
    const page = await console.open({ path: `/machines/${id}`, role: 'admin' });
    const dialog = await action(page, 'Erase');
    const go = dialog.getByRole('button', { name: 'Erase', exact: true });
    expect(await go.getAttribute('aria-disabled')).toBe('true');
    await dialog.getByRole('checkbox').check();
    await dialog.getByRole('textbox', { name: `Type ${id} to confirm` }).fill(id);
    await dialog.getByText(`ingot erase ${id} --full-overwrite`).waitFor();
    await go.click();
    await ended(id, 'ERASE');
    const { operations } = await console.server.operations.listOperations({ filter: `machine_id = ${id}` });
    expect(operations).toContainEqual(expect.objectContaining({ params: { overwrite: 'whole' } }));
  });

  it('is replaced by hardware with other addresses, and invalid addresses are rejected', {
    tags: ['extended'],
  }, async () => {
    const { server } = console;
    const { id } = await maintainedNode();
    const page = await console.open({ path: `/machines/${id}/hardware`, role: 'admin' });
    const dialog = await action(page, 'Migrate');
    const addresses = dialog.getByRole('textbox', { name: /^MAC addresses/ });
    await addresses.fill('no address');
    const go = dialog.getByRole('button', { name: 'Migrate', exact: true });
    await go.click();
    await dialog.getByRole('alert').getByText('mac_addresses[0]').waitFor();
    const mac = newMac();
    await addresses.fill(mac.toUpperCase().replaceAll(':', '-'));
    await go.click();
    await expect.poll(async () => (await nodeOf(server, id)).state, { timeout: 20_000 }).toBe('migrating');
    await report(server, mac, null, { serial_number: 'NEW-1' });
    await ended(id, 'MIGRATE');
    await section(page, 'Node').getByText('NEW-1').first().waitFor();
    expect((await server.machines.getMachine({ machineId: id })).spec?.macAddresses).toEqual([mac]);
  });
});
