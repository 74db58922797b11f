import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../parts/postgres.ts';
import { CHROMIUM, Console } from './console.ts';

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

  it('starts with a valid token, which stays in this tab and out of every URL', async () => {
    const page = await console.newPage();
    const urls: string[] = [];
    page.on('request', (request) => urls.push(request.url()));
    await page.goto(`${console.server.httpUrl}/machines`);
    const { adminToken } = console.server;
    await page.getByLabel('Token', { exact: true }).fill('nonsense');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('the token is not known, revoked or expired').waitFor();
    await page.getByLabel('Token', { exact: true }).fill(adminToken);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Machines' }).waitFor();
    expect(await page.evaluate('Object.values(sessionStorage)')).toEqual([adminToken]);
    expect(await page.evaluate('Object.values(localStorage).concat(document.cookie)')).toEqual(['']);
    expect(urls.filter((url) => url.includes(adminToken))).toEqual([]);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token', { exact: true }).waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
  });

  it('ends when its token is revoked, and says why', async () => {
    const page = await console.open({ role: 'viewer' });
    const { tokens } = await console.server.admin.listTokens({});
    const name = tokens.find(({ role }) => role === 'viewer')?.name ?? '';
    await console.server.admin.revokeToken({ name });
    // Without a request by the user: the event stream ends.
    await page.getByText('Your token is no longer valid').waitFor();
  });

  it('shows that it reconnects while the server is down, with the age of its data; then it is live again', async () => {
    const page = await console.open();
    const all = page.getByRole('link', { name: /ALL/ });
    await all.getByText('0', { exact: true }).waitFor();
    const restart = await console.stopServer();
    await page.getByText(/reconnecting · updated \d+ (s|min) ago/).waitFor();
    await restart();
    await page.locator('[data-live=live]').waitFor({ timeout: 30_000 });
    await console.server.machines.registerMachine({ machine: { machineId: 'after-restart' } });
    await all.getByText('1', { exact: true }).waitFor();
  });

  it('lists all keyboard shortcuts, and finds machines, operations and pages without a mouse', async () => {
    const page = await console.open();
    await page.keyboard.press('?');
    const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await help.getByText('Search machines, operations and actions').waitFor();
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

  it('keeps the selected theme', async () => {
    const page = await console.open({ colours: 'light' });
    const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
    const light = await ground();
    await page.getByLabel('Theme').selectOption('dark');
    expect(await ground()).not.toBe(light);
    await page.reload();
    await page.locator('[data-live=live]').waitFor();
    expect(await ground()).not.toBe(light);
  });
});
