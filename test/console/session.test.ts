// @module-tag extended: machine-page.test.ts signs in and reads live data; this takes the server away.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../parts/postgres.ts';
import { CHROMIUM, Console, screenshot } from './console.ts';

/** All that a script of the page can read. */
const READABLE = '[...Object.values(sessionStorage), ...Object.values(localStorage), document.cookie]';

describe.skipIf(CHROMIUM.isMissing)(CHROMIUM.title('a session'), () => {
  let console: Console;
  let database: TestDatabase;
  const dataDir = mkdtempSync(join(tmpdir(), 'ingot-console-'));
  beforeAll(async () => {
    database = await cloneDatabase();
    console = await Console.start({ database, dataDir });
  });
  afterAll(async () => {
    await console.stop();
    await database.drop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('starts with a valid token, which no script can read and no URL has', async () => {
    const page = await console.newPage();
    const urls: string[] = [];
    page.on('request', (request) => urls.push(request.url()));
    await page.goto(`${console.server.httpUrl}/machines`);
    const { adminToken } = console.server;
    await page.getByLabel('Token', { exact: true }).fill('nonsense');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page
      .getByRole('alert')
      .getByText(/^The token is not known, revoked or expired/)
      .waitFor();
    await screenshot(page, 'sign-in');
    await page.getByLabel('Token', { exact: true }).fill(adminToken);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Machines' }).waitFor();
    expect(await page.evaluate(READABLE)).toEqual(['']);
    expect(urls.filter((url) => url.includes(adminToken))).toEqual([]);
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/', expires: -1 });
    await page.getByRole('button', { name: 'Account and settings' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token', { exact: true }).waitFor();
    expect(await page.context().cookies()).toEqual([]);
    await page.reload();
    await page.getByLabel('Token', { exact: true }).waitFor();
  });

  it('ends when its token is revoked, and says why', async () => {
    const page = await console.open({ role: 'viewer' });
    const { tokens } = await console.server.admin.listTokens({});
    const name = tokens.find(({ role }) => role === 'viewer')?.name ?? '';
    await console.server.admin.revokeToken({ name });
    // Without a request by the user: the event stream ends.
    await page.getByText('Your session has ended').waitFor();
  });

  it('is there behind a link on another site, whose own requests do not get its cookie', {
    tags: ['extended'],
  }, async () => {
    const page = await console.open({ path: '/fleet' });
    const { httpUrl } = console.server;
    await page.route('http://chat.example/', (route) =>
      route.fulfill({ contentType: 'text/html', body: `<a href="${httpUrl}/machines">the machines</a>` }),
    );
    await page.goto('http://chat.example/');
    const sent = page.waitForRequest(`${httpUrl}/auth/session`);
    await page.evaluate(
      `fetch('${httpUrl}/auth/session', { credentials: 'include', mode: 'no-cors' }).catch(() => {})`,
    );
    expect((await (await sent).allHeaders()).cookie).toBeUndefined();
    await page.getByRole('link').click();
    await page.getByRole('heading', { level: 1, name: 'Machines' }).waitFor();
  });

  it('ends in all tabs when the user signs out in one, and starts again in all', {
    tags: ['extended'],
  }, async () => {
    const page = await console.open({ path: '/fleet' });
    const tab = await page.context().newPage();
    await tab.goto(`${console.server.httpUrl}/machines`);
    await tab.locator('[data-live=live]').waitFor();
    await page.getByRole('button', { name: 'Account and settings' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await tab.getByText('You signed out in another tab.').waitFor();
    await tab.getByLabel('Token', { exact: true }).fill(console.server.adminToken);
    await tab.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Account and settings of admin' }).waitFor();
  });

  it('stays when the server could not end it, and says so', { tags: ['extended'] }, async () => {
    const page = await console.open({ path: '/fleet' });
    await page.route('**/auth/session', (route) => route.abort());
    await page.getByRole('button', { name: 'Account and settings' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are not signed out').waitFor();
  });

  it('shows that it reconnects while the server is down, with the age of its data; then it is live again', {
    tags: ['extended'],
  }, async () => {
    await console.server.machines.registerMachine({ machine: { machineId: 'before-restart' } });
    const page = await console.open();
    const all = page.getByRole('link', { name: /ALL/ });
    await all.getByText('1', { exact: true }).waitFor();
    const restart = await console.stopServer();
    await page.getByText(/reconnecting · updated \d+ (s|min) ago/).waitFor();
    await restart();
    await page.locator('[data-live=live]').waitFor({ timeout: 30_000 });
    await console.server.machines.registerMachine({ machine: { machineId: 'after-restart' } });
    await all.getByText('2', { exact: true }).waitFor();
  });

  it('keeps its frame and its data with their age while the server is away, also after a reload', {
    timeout: 60_000,
  }, async () => {
    const page = await console.open({ path: '/machines', shell: 'kept' });
    await page.getByRole('link', { name: 'after-restart', exact: true }).waitFor();
    await page.evaluate('navigator.serviceWorker.ready.then(() => undefined)');
    const restart = await console.stopServer();
    await page.getByText(/shows its data as of \d+ (s|min) ago/).waitFor();
    await page.getByRole('link', { name: 'after-restart', exact: true }).waitFor();
    await screenshot(page, 'server-away');
    // Files of pages that were not open yet are kept too.
    await page.getByRole('navigation').getByRole('link', { name: 'Budgets' }).click();
    await page.locator('h1', { hasText: 'Budgets' }).waitFor();
    await page.reload();
    await page.getByText('The server is away').waitFor();
    await page.getByText('Ingot', { exact: true }).waitFor();
    await screenshot(page, 'server-away-reloaded');
    await restart();
    await page.locator('h1', { hasText: 'Budgets' }).waitFor({ timeout: 30_000 });
    await page.locator('[data-live=live]').waitFor({ timeout: 30_000 });
    expect(await page.getByText('The server is not responding').count()).toBe(0);
  });

  it('keeps its frame where the file of a page was never read, and opens the page when the server is back', {
    timeout: 60_000,
  }, async () => {
    const page = await console.open({ path: '/machines' });
    await page.getByRole('link', { name: 'after-restart', exact: true }).waitFor();
    const restart = await console.stopServer();
    await page.getByText(/reconnecting · updated \d+ (s|min) ago/).waitFor();
    const link = page.getByRole('navigation').getByRole('link', { name: 'Budgets' });
    await link.click();
    await page.getByText('This page opens when the server responds again.').waitFor();
    expect(await link.isVisible()).toBe(true);
    await restart();
    await page.locator('h1', { hasText: 'Budgets' }).waitFor({ timeout: 30_000 });
  });

  it('is there in a tab that a middle-click on a machine opens', { tags: ['extended'] }, async () => {
    const page = await console.open({ path: '/machines' });
    const opened = page.context().waitForEvent('page');
    await page.getByRole('link', { name: 'after-restart', exact: true }).click({ button: 'middle' });
    const tab = await opened;
    await tab.getByRole('heading', { level: 1, name: 'after-restart' }).waitFor();
    await tab.locator('[data-live=live]').waitFor();
    expect(new URL(tab.url()).pathname).toBe('/machines/after-restart');
    expect(await tab.getByLabel('Token', { exact: true }).count()).toBe(0);
  });

  it('lists all keyboard shortcuts, and finds machines, operations and pages without a mouse', {
    tags: ['extended'],
  }, async () => {
    const page = await console.open();
    await page.keyboard.press('?');
    const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await help.getByText('Search machines, operations, rollouts and actions').waitFor();
    await page.keyboard.press('Escape');
    await help.waitFor({ state: 'detached' });
    await page.keyboard.press('Control+k');
    await page.keyboard.type('after-r');
    await page.getByRole('option', { name: /Machine after-restart/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'after-restart' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('plans');
    await page.getByRole('option', { name: /Page Plans/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('h1:focus', { hasText: 'Plans' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('nothing-of-that-name');
    await page.getByRole('option', { name: /Search Machines matching/ }).waitFor();
  });

  it('keeps the selected theme', { tags: ['extended'] }, async () => {
    const page = await console.open({ colours: 'light' });
    const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
    const light = await ground();
    await page.getByRole('button', { name: 'Account and settings' }).click();
    await page.getByLabel('Theme').selectOption('dark');
    expect(await ground()).not.toBe(light);
    await page.reload();
    await page.locator('[data-live=live]').waitFor();
    expect(await ground()).not.toBe(light);
  });
});
