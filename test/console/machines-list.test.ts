// @module-tag extended: fleet/machines.test.ts has filters and facets; reimage.test.ts starts from the list.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../api/fleet.ts';
import { CHROMIUM, Console } from './console.ts';

const MACHINES = 120;
const ROW = 40;
/** What these tests read; the page itself opens with trouble first, and with its state as one text. */
const SHOWN = 'facets=shown&sort=machine_id&columns=machine_id,phase,effective_rack';
const idOf = (n: number) => `list-${String(n).padStart(3, '0')}`;

describe.skipIf(CHROMIUM.isMissing)(CHROMIUM.title('the list of machines'), () => {
  let console: Console;
  beforeAll(async () => {
    console = await Console.start();
    // Machines of r1 are there by their location, which overrides the label.
    await console.server.sql(
      `INSERT INTO machines (machine_id, labels, spec, phase, pool)
       SELECT 'list-' || lpad(n::text, 3, '0'), jsonb_build_object('rack', CASE n % 3 WHEN 1 THEN 'r0' ELSE 'r' || n % 3 END),
         jsonb_build_object('provider', 'fake', 'ssh_endpoint', '', 'bmc_endpoint', '', 'target_cluster_ref', '',
           'mac_addresses', '[]'::jsonb) || CASE n % 3 WHEN 1 THEN '{"location": {"rack": "r1"}}' ELSE '{}' END::jsonb,
         CASE WHEN n % 4 = 0 THEN 'MAINTENANCE' ELSE 'READY' END, CASE WHEN n < 40 THEN 'gpu' WHEN n = $1 - 1 THEN 'spare' END
       FROM generate_series(0, $1 - 1) AS n`,
      [MACHINES],
    );
  });
  afterAll(() => console.stop());

  const open = (filter: string, role: 'viewer' | 'operator' = 'operator') =>
    console.open({ role, path: `/machines?${SHOWN}&filter=${encodeURIComponent(filter)}` });
  const total = (page: Page, count: number) =>
    page.getByText(`${count} machines`, { exact: true }).first().waitFor();
  const filterOf = (page: Page) => page.getByRole('combobox', { name: 'Filter' });

  it('is filtered by facets, whose counts ignore their own selection, and the back button undoes it', async () => {
    const page = await open('');
    await total(page, MACHINES);
    await page.getByRole('button', { name: /^r1/ }).click();
    await total(page, 40);
    await page
      .getByRole('button', { name: /^MAINTENANCE/, pressed: false })
      .last()
      .click();
    await total(page, 10);
    expect(await filterOf(page).inputValue()).toBe('effective_rack=r1 AND phase=MAINTENANCE');
    await page.getByRole('button', { name: /^r2\s*10$/ }).waitFor();
    await page.getByRole('button', { name: /^READY\s*30$/ }).waitFor();
    await page.goBack();
    await total(page, 40);
    expect(await filterOf(page).inputValue()).toBe('effective_rack=r1');
    await page.getByRole('button', { name: /^r1/, pressed: true }).click();
    await total(page, MACHINES);
  });

  it('suggests fields and values, reads plain words as ids, and marks the error in a filter', {
    tags: ['extended'],
  }, async () => {
    const page = await open('');
    await total(page, MACHINES);
    await page.keyboard.press('/');
    await page.keyboard.type('pha');
    for (const part of ['phase', 'phase =', 'READY']) {
      if (part === 'READY') await page.keyboard.type('REA');
      await page.getByRole('option', { name: part }).first().waitFor();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
    }
    await page.keyboard.press('Enter');
    await total(page, 90);
    expect(new URL(page.url()).searchParams.get('filter')?.trim()).toBe('phase=READY');

    await filterOf(page).fill('list-00');
    await page.keyboard.press('Enter');
    await total(page, 10);
    expect(await filterOf(page).inputValue()).toBe('machine_id:list-00');

    await filterOf(page).fill('phase=READY AND rock=r1');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText("unknown field 'rock' at position 17").waitFor();
    expect(await page.locator('.faulty mark').textContent()).toBe('r');
  });

  it('suggests values of machines that no screen has shown, the most frequent first', {
    tags: ['extended'],
  }, async () => {
    const page = await open('');
    await total(page, MACHINES);
    await filterOf(page).fill('pool=');
    const offered = page.getByRole('listbox', { name: 'Suggestions' }).getByRole('option');
    await offered.filter({ hasText: 'spare' }).waitFor();
    expect(await offered.allTextContents()).toEqual(['gpu', 'spare', '*any value']);
  });

  it('is sorted by a heading, which shows the direction', { tags: ['extended'] }, async () => {
    const page = await open('pool=gpu');
    await total(page, 40);
    const rack = page.getByRole('columnheader', { name: 'Rack' });
    await rack.getByRole('button').click();
    await rack.getByRole('button').click();
    await expect.poll(() => rack.getAttribute('aria-sort')).toBe('descending');
    expect(new URL(page.url()).searchParams.get('sort')).toBe('-effective_rack');
    await expect.poll(() => page.locator('tr[data-place="0"]').textContent()).toContain('list-002');
  });

  it('is navigated and selected with the keyboard alone', { tags: ['extended'] }, async () => {
    const page = await open('pool=gpu');
    await total(page, 40);
    for (const key of ['j', 'j', 'x', 'j', ' ']) await page.keyboard.press(key);
    await page.getByText('2 selected').waitFor();
    expect(await page.getByRole('checkbox', { name: `Select ${idOf(1)}` }).isChecked()).toBe(true);
    expect(await page.getByRole('checkbox', { name: `Select ${idOf(2)}` }).isChecked()).toBe(true);
    await page.getByRole('checkbox', { name: `Select ${idOf(8)}` }).click({ modifiers: ['Shift'] });
    await page.getByText('8 selected').waitFor();
    await page.locator('h1').click();
    await page.keyboard.press('k');
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/machines/${idOf(7)}`);
  });

  it('updates cells but never moves rows, and counts added and removed machines', {
    tags: ['extended'],
  }, async () => {
    const page = await open('labels.rack=r2 AND phase=READY');
    await total(page, 30);
    const scroller = page.locator('.machine-scroller');
    await scroller.evaluate((element, top) => element.scrollTo(0, top), 10 * ROW + 7);
    const seen = page.locator('tr[data-place="12"]');
    const machineId = (await seen.getByRole('link').first().textContent()) ?? '';
    await seen.getByText('READY').waitFor();
    const placeOf = async (id: string) => {
      const box = await page.locator('tr[data-place]', { hasText: id }).boundingBox();
      return Math.round(box?.y ?? -1);
    };
    const before = await placeOf(machineId);
    await run(console.server, 'ENTER_MAINTENANCE', idOf(5));
    await run(console.server, 'ENTER_MAINTENANCE', machineId);
    await seen.getByText('MAINTENANCE').first().waitFor();
    await page.getByRole('button', { name: '2 changed. Refresh' }).waitFor();
    expect(await placeOf(machineId)).toBe(before);
    const next = (await page.locator('tr[data-place="13"]').getByRole('link').first().textContent()) ?? '';
    const nextBefore = await placeOf(next);
    await page.locator('h1').click();
    await page.keyboard.press('r');
    await total(page, 28);
    await expect.poll(() => placeOf(next)).toBe(nextBefore - ROW);
    expect(await page.getByRole('button', { name: /changed\. Refresh/ }).count()).toBe(0);

    await run(console.server, 'EXIT_MAINTENANCE', machineId);
    await page.getByRole('button', { name: '1 changed. Refresh' }).click();
    await total(page, 29);
  });

  it('lets a viewer select, and says why no action is available', { tags: ['extended'] }, async () => {
    const page = await open('pool=gpu', 'viewer');
    await total(page, 40);
    await page.getByRole('checkbox').first().check();
    const reboot = page.getByRole('button', { name: 'Reboot' });
    expect(await reboot.getAttribute('aria-disabled')).toBe('true');
    await reboot.hover();
    await reboot.locator('xpath=..').getByText('This needs the role operator').waitFor();
    expect(console.pageErrors).toEqual([]);
  });
});
