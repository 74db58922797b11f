// @module-tag extended: machine-page.test.ts and reimage.test.ts have the pages; this has what is done every day.
/** Small things that people do all day, and that are missed when they break. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newMachine, run } from '../api/fleet.ts';
import { CHROMIUM, Console } from './console.ts';

const FIRST_PAINT = `performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0`;
const FOCUSED = "document.activeElement.getAttribute('role')";

describe.skipIf(CHROMIUM.isMissing)(CHROMIUM.title('every day'), () => {
  let console: Console;
  let machineId: string;
  let operationId: string;
  beforeAll(async () => {
    console = await Console.start();
    for (const team of ['web', 'web', 'web', 'db'])
      machineId = await newMachine(console.server, { phase: 'READY', labels: { team } });
    ({ operationId } = await run(console.server, 'REBOOT', machineId));
  });
  afterAll(() => console.stop());

  const filter = (page: Page) => page.getByRole('combobox', { name: 'Filter' });

  it('a list is grouped by any field, also a label, with counts that filter it', async () => {
    const page = await console.open({ path: '/machines' });
    await page.getByRole('link', { name: machineId }).waitFor();
    await page.getByLabel('Group by').selectOption('By label team');
    const groups = page.getByRole('list', { name: 'Groups' });
    await groups.getByRole('button', { name: 'db 1' }).waitFor();
    await groups.getByRole('button', { name: 'web 3' }).click();
    await page.getByText('3 machines', { exact: true }).first().waitFor();
    expect(await filter(page).inputValue()).toBe('labels.team=web');
  });

  it('each group has a heading that collapses it and selects all of it, by mouse and by key', async () => {
    const page = await console.open({ path: '/machines?group=labels.team' });
    const list = page.getByRole('region', { name: 'Machines' });
    const web = list.getByRole('button', { name: 'web 3', expanded: true });
    await web.waitFor();
    const rows = list.getByRole('row').filter({ has: page.getByRole('link') });
    await expect.poll(() => rows.count()).toBe(4);
    await list.getByRole('checkbox', { name: 'Select all of web' }).check();
    await page.getByText('3 selected').waitFor();
    await web.click();
    await expect.poll(() => rows.count()).toBe(1);
    // The selection stays, and is there after Back, as the group stays collapsed.
    await rows.getByRole('link').first().click();
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.goBack();
    await list.getByRole('button', { name: 'web 3', expanded: false }).waitFor();
    await page.getByText('3 selected').waitFor();
    // db, its machine, web
    for (const key of ['j', 'j', 'j', 'Enter']) await page.keyboard.press(key);
    await expect.poll(() => rows.count()).toBe(4);
    await page.keyboard.press('x');
    await page.getByText('None selected').waitFor();
  });

  it('select-all means all that match, and the selection is there after Back', async () => {
    const page = await console.open({ path: '/machines?filter=labels.team%3Dweb' });
    await page.getByText('3 machines', { exact: true }).first().waitFor();
    await page.getByRole('checkbox').first().check();
    await page.getByText('3 selected').waitFor();
    await page.getByRole('row').nth(1).getByRole('link').first().click();
    await page
      .getByRole('tab', { name: 'Overview' })
      .or(page.getByRole('link', { name: 'Overview' }))
      .waitFor();
    await page.goBack();
    await page.getByText('3 selected').waitFor();
  });

  it('a selection of racks is there after Back, too', async () => {
    const spec = { location: { site: 'ams1', row: 'a', rack: 'r1', unit: 'U7' } };
    const placed = await newMachine(console.server, { phase: 'READY', spec });
    const page = await console.open({ path: '/racks' });
    await page.getByRole('region', { name: 'Rack r1' }).getByRole('button').first().click();
    await page.getByText('1 selected').waitFor();
    await page.getByRole('link', { name: `Open ${placed}` }).click();
    await page.getByRole('heading', { level: 1, name: placed }).waitFor();
    await page.goBack();
    await page.getByText('1 selected').waitFor();
  });

  it('Escape leaves the filter, and keys work again', async () => {
    const page = await console.open({ path: '/machines' });
    await page.getByRole('link', { name: machineId }).waitFor();
    await page.keyboard.press('/');
    await expect.poll(() => page.evaluate(FOCUSED)).toBe('combobox');
    await page.keyboard.type('lab');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await expect.poll(() => page.evaluate(FOCUSED)).not.toBe('combobox');
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
  });

  it('a view is saved for its owner, shared with all, and opened again', async () => {
    const page = await console.open({ path: '/machines?filter=labels.team%3Ddb' });
    const views = page.getByRole('button', { name: 'Views' });
    await views.click();
    await page.getByLabel('Save what is shown as').fill('databases');
    await page.getByRole('button', { name: 'Save for me' }).click();
    await page.getByText('View databases is saved').waitFor();
    await page.getByLabel('Save what is shown as').fill('all databases');
    await page.getByRole('button', { name: 'Share' }).click();
    await page.getByText('View all databases is shared').waitFor();
    const other = await console.open({ path: '/machines' });
    await other.getByRole('button', { name: 'Views' }).click();
    await other.getByRole('button', { name: /^all databases shared by/ }).click();
    await other.getByText('1 machine', { exact: true }).first().waitFor();
    expect(await other.getByRole('button', { name: 'databases', exact: true }).count()).toBe(0);
  });

  it('one switch makes all times UTC, with the local one in the tooltip', async () => {
    const page = await console.open({ path: `/operations/${operationId}` });
    const clock = page
      .getByRole('region', { name: /^History/ })
      .locator('time')
      .first();
    await clock.waitFor();
    await page.getByRole('button', { name: /^Account and settings/ }).click();
    await page.getByLabel('Times').selectOption('UTC');
    const at = (await clock.getAttribute('datetime')) ?? '';
    expect(await clock.textContent()).toBe(at.slice(0, 19).replace('T', ' '));
    expect(await clock.getAttribute('title')).toMatch(/ UTC[+-]\d\d:\d\d$/);
    await expect
      .poll(() => page.locator('.log-stamp').first().textContent())
      .toMatch(/^\d\d:\d\d:\d\d\.\d{3}$/);
  });

  it('a skeleton is painted after one round trip', async () => {
    const page = await console.newPage();
    await console.signIn(page, console.server.adminToken);
    // All that a page needs besides itself never comes.
    await page.route(
      (url) => url.pathname !== '/machines',
      () => {},
    );
    await page.goto(`${console.server.httpUrl}/machines`, { waitUntil: 'commit' });
    await expect.poll(() => page.evaluate<number>(FIRST_PAINT)).toBeGreaterThan(0);
    expect(await page.evaluate("getComputedStyle(document.querySelector('.shell')).display")).toBe('grid');
    expect((await page.locator('.skeleton.title').boundingBox())?.height).toBe(24);
  });

  it('over a line with 400 ms latency, that is less than two round trips', {
    tags: ['extended'],
  }, async () => {
    const firstPaint = async (latency: number) => {
      const page = await console.newPage();
      const session = await page.context().newCDPSession(page);
      await session.send('Network.enable');
      await session.send('Network.emulateNetworkConditions', {
        ...{ offline: false, latency, downloadThroughput: -1, uploadThroughput: -1 },
      });
      await console.signIn(page, console.server.adminToken);
      await page.goto(`${console.server.httpUrl}/machines`);
      await expect.poll(() => page.evaluate<number>(FIRST_PAINT)).toBeGreaterThan(0);
      return page.evaluate<number>(FIRST_PAINT);
    };
    const near = await firstPaint(0);
    const far = await firstPaint(400);
    globalThis.console.log(
      `first paint: ${near.toFixed(0)} ms, and ${far.toFixed(0)} ms with 400 ms latency`,
    );
    expect(Math.floor((far - near) / 400)).toBeLessThan(2);
  });

  it('no page wrote an error to the browser', () => expect(console.pageErrors).toEqual([]));
});
