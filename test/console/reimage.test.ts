import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { newMachine, start, waitingAt } from '../api/fleet.ts';
import { CHROMIUM, Console, expectAccessible, screenshot } from './console.ts';

describe.skipIf(CHROMIUM.isMissing)(CHROMIUM.title('maintenance and reimage, in the browser'), () => {
  let console: Console;
  beforeAll(async () => {
    console = await Console.start();
  });
  afterAll(() => console.stop());

  const button = (page: Page | Locator, name: string) =>
    page.getByRole('button', { name, exact: true }).first();
  const dialog = (page: Page) => page.getByRole('dialog');
  const state = (page: Page, text: string) =>
    page.locator('.badge, .headline', { hasText: text }).first().waitFor();

  it('a machine is reimaged, from the list until it is back in service', async () => {
    const machineId = await newMachine(console.server, { phase: 'READY', labels: { 'fake/step-ms': '300' } });
    const fleet = console.server.client(FleetService, console.server.adminToken);
    const page = await console.open({ path: '/machines' });
    await page.getByRole('link', { name: machineId }).click();
    await page.getByRole('heading', { level: 1, name: machineId }).waitFor();

    const reimage = button(page, 'Reimage');
    expect(await reimage.getAttribute('aria-disabled')).toBe('true');
    await reimage.hover();
    await page.getByRole('tooltip').getByText('Enter maintenance first.').waitFor();

    await button(page, 'Enter maintenance').click();
    await dialog(page).getByText(`ingot enter-maintenance ${machineId}`).waitFor();
    await button(dialog(page), 'Enter maintenance').click();
    await state(page, 'MAINTENANCE');

    await reimage.click();
    await dialog(page)
      .getByRole('combobox', { name: /^Image/ })
      .fill('ubuntu-2204');
    const confirm = button(dialog(page), 'Reimage');
    expect(await confirm.getAttribute('aria-disabled')).toBe('true');
    await dialog(page)
      .getByRole('textbox', { name: `Type ${machineId} to confirm` })
      .fill(machineId);
    await expectAccessible(page);
    await screenshot(page, 'reimage-dialog');
    await confirm.click();
    await page
      .locator('.toast', { hasText: 'Reimage started on' })
      .getByRole('link', { name: /^op-/ })
      .click();

    await state(page, 'RUNNING');
    const log = page.getByRole('log');
    await log.getByText('Configuring PXE for ubuntu-2204').waitFor();
    await log.getByText('Writing image ubuntu-2204').waitFor();
    await screenshot(page, 'operation-running');
    await expectAccessible(page);
    await state(page, 'SUCCEEDED');

    await page.getByRole('link', { name: machineId }).first().click();
    await button(page, 'Exit maintenance').click();
    await button(dialog(page), 'Exit maintenance').click();
    await state(page, 'IDLE');
    const [event] = (
      await fleet.listEvents({ filter: `machine_id = ${machineId} AND kind = phase`, pageSize: 1 })
    ).events;
    const since = page.getByRole('region', { name: 'State layers' }).locator('time').first();
    await expect
      .poll(() => since.getAttribute('datetime'))
      .toBe(event?.at && timestampDate(event.at).toISOString());
    await expectAccessible(page);
    await screenshot(page, 'machine');
    expect(console.pageErrors).toEqual([]);
  });

  it('a failure says why and whether it can be retried, and the retry succeeds', {
    tags: ['extended'],
  }, async () => {
    const machineId = await newMachine(console.server, {
      phase: 'MAINTENANCE',
      labels: { 'fake/fail-step': 'repave:2' },
    });
    const { operationId } = await start(console.server, 'REIMAGE', machineId, { imageRef: 'ubuntu-2204' });
    const page = await console.open({ path: `/machines/${machineId}` });
    await state(page, 'ATTENTION');
    await page.getByText('read the log of the step, and fix what it names').first().waitFor();
    await page.getByRole('link', { name: 'View operation' }).first().click();
    await page.waitForURL(`**/operations/${operationId}`);
    await state(page, 'FAILED');
    await page.getByText('the image could not be written: I/O error on /dev/sda').first().waitFor();
    await screenshot(page, 'operation-failed');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Retry stage' }).first().click();
    const retry = button(dialog(page), 'Retry stage');
    expect(await retry.getAttribute('aria-disabled')).toBe('true');
    await dialog(page).getByRole('textbox', { name: 'Reason' }).fill('the disk was reseated');
    await retry.click();
    await state(page, 'SUCCEEDED');
    await page.getByText('the disk was reseated').first().waitFor();
  });

  it('an operation is canceled, with the reason in its history', { tags: ['extended'] }, async () => {
    const machineId = await newMachine(console.server, {
      phase: 'MAINTENANCE',
      labels: { 'fake/hang-step': 'repave' },
    });
    const operation = await start(console.server, 'REIMAGE', machineId, { imageRef: 'ubuntu-2204' });
    await waitingAt(console.server, operation, 'repave');
    const page = await console.open({ path: `/operations/${operation.operationId}` });
    await state(page, 'RUNNING');
    await button(page, 'Cancel').click();
    await dialog(page).getByRole('textbox', { name: 'Reason' }).fill('the wrong machine');
    await button(dialog(page), 'Cancel').click();
    await state(page, 'CANCELED');
    await page.getByText('the wrong machine').first().waitFor();
  });

  it('a viewer sees everything, but no action is available, and each says why', {
    tags: ['extended'],
  }, async () => {
    const machineId = await newMachine(console.server, { phase: 'MAINTENANCE' });
    const page = await console.open({ path: `/machines/${machineId}`, role: 'viewer' });
    for (const name of ['Reboot', 'Reimage', 'Exit maintenance']) {
      const action = button(page, name);
      await action.waitFor();
      expect(await action.getAttribute('aria-disabled'), name).toBe('true');
      await action.click({ force: true });
      expect(await dialog(page).count()).toBe(0);
    }
    await button(page, 'Reboot').focus();
    await page
      .getByRole('tooltip')
      .getByText(/needs the role operator; viewer-\d+ has viewer/)
      .first()
      .waitFor();
    await screenshot(page, 'machine-as-viewer');
  });

  it('without a mouse: found, opened, put into maintenance', { tags: ['extended'] }, async () => {
    const machineId = await newMachine(console.server, { phase: 'READY' });
    const page = await console.open({ path: '/machines' });
    await page.getByRole('link', { name: machineId }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type(`machine_id = "${machineId}"`);
    await page.keyboard.press('Enter');
    await page.getByText('1 machine', { exact: true }).waitFor();
    // Leaves the input, so that letters are shortcuts again.
    await page.keyboard.press('Tab');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.locator('h1:focus', { hasText: machineId }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('enter maint');
    await page.getByRole('option', { name: /Action .*Enter maintenance/i }).waitFor();
    await page.keyboard.press('Enter');
    await dialog(page).getByText(`ingot enter-maintenance ${machineId}`).waitFor();
    while ((await page.evaluate('document.activeElement?.textContent')) !== 'Enter maintenance')
      await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await state(page, 'MAINTENANCE');
  });
});
