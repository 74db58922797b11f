// @module-tag extended: reimage.test.ts takes a machine through the same work; this counts clicks.
/** Tasks that people do often, each with the interactions that it takes: a click, a field that is filled in, a key. */
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fresh, newMachine, run } from '../api/fleet.ts';
import type { TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { CHROMIUM, Console, screenshot } from './console.ts';

class Counted {
  count = 0;
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  async click(target: Locator): Promise<void> {
    this.count += 1;
    await target.click();
  }

  async fill(target: Locator, text: string): Promise<void> {
    this.count += 1;
    await target.fill(text);
  }
}

/** Machines whose reimage failed at the step. */
function failures(server: TestServer, count: number, { step, imageRef }: { step: string; imageRef: string }) {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const labels = { 'fake/step-ms': '1', 'fake/fail-step': step };
      const machineId = await newMachine(server, { phase: 'MAINTENANCE', labels });
      return run(server, 'REIMAGE', machineId, { imageRef });
    }),
  );
}

describe.skipIf(CHROMIUM.isMissing)(CHROMIUM.title('tasks, by their interactions'), () => {
  let console: Console;
  beforeAll(async () => {
    console = await Console.start();
  });
  afterAll(() => console.stop());

  const menu = (page: Page, name: string) => page.getByRole('navigation').getByRole('link', { name });

  it('a rack goes into maintenance and is reimaged in 5', { timeout: 60_000 }, async () => {
    const { server } = console;
    const ids = await Promise.all(
      Array.from({ length: 4 }, (_, n) =>
        newMachine(server, {
          phase: 'READY',
          labels: { 'fake/step-ms': '1' },
          spec: { location: { site: 'ams1', row: 'a', rack: 'r11', unit: `U${n * 2 + 1}` } },
        }),
      ),
    );
    const page = await console.open({ path: '/fleet' });
    const user = new Counted(page);
    await user.click(menu(page, 'Racks'));
    await user.click(page.getByRole('region', { name: 'Rack r11' }).getByRole('button').first());
    await page.getByText('4 selected').waitFor();
    await screenshot(page, 'racks');
    await user.click(page.getByRole('button', { name: 'Maintenance and reimage' }));
    await user.fill(page.getByLabel('This destroys data. Type 4 to confirm'), '4');
    await user.click(page.getByRole('button', { name: 'Start: 4 machines' }));
    await page.waitForURL(/\/rollouts\/./);
    await until(
      () => Promise.all(ids.map((machineId) => server.machines.getMachine({ machineId }))),
      (machines) =>
        machines.every(({ status }) =>
          status?.conditions.some(({ type, status: is }) => type === 'Provisioned' && is),
        ),
    );
    expect(user.count).toBe(5);
  });

  it('seven identical failures are retried in 3', { tags: ['extended'], timeout: 60_000 }, async () => {
    const { server } = console;
    const operations = await failures(server, 7, { step: 'repave', imageRef: 'ubuntu-2204' });
    // The same code, and another failure: of another step, and with another image.
    await failures(server, 2, { step: 'netboot', imageRef: 'ubuntu-2204' });
    await failures(server, 1, { step: 'repave', imageRef: 'debian-13' });
    const page = await console.open({ path: `/operations/${operations[0]?.operationId}` });
    await page.getByText('6 more with this error').waitFor();
    await screenshot(page, 'operation-failed');
    const user = new Counted(page);
    await user.click(page.getByRole('button', { name: 'Retry all 7 machines' }));
    await user.fill(page.getByLabel('This destroys data. Type 7 to confirm'), '7');
    await user.click(page.getByRole('button', { name: 'Start: 7 machines' }));
    await page.waitForURL(/\/rollouts\/./);
    expect(user.count).toBe(3);
  });

  it('seven identical failures are retried in 3, from the page of the fleet too', {
    tags: ['extended'],
    timeout: 60_000,
  }, async () => {
    const { server } = console;
    await failures(server, 7, { step: 'reboot', imageRef: 'ubuntu-2204' });
    const page = await console.open({ path: '/fleet' });
    const failed = page.getByRole('region', { name: 'Recent failures' });
    const row = failed.getByRole('row').filter({ hasText: '7 machines' }).first();
    await row.waitFor();
    await screenshot(page, 'fleet-failures');
    const user = new Counted(page);
    await user.click(row.getByRole('button', { name: 'Retry all 7 machines' }));
    await user.fill(page.getByLabel('This destroys data. Type 7 to confirm'), '7');
    await user.click(page.getByRole('button', { name: 'Start: 7 machines' }));
    await page.waitForURL(/\/rollouts\/./);
    expect(user.count).toBe(3);
  });

  it('a colleague gets a token in 4', async () => {
    const page = await console.open({ role: 'admin', path: '/fleet' });
    const user = new Counted(page);
    await user.click(menu(page, 'Access'));
    await user.click(page.getByRole('button', { name: 'New token' }));
    const name = fresh('anna');
    await user.fill(page.getByLabel(/^Name/), name);
    await user.click(page.getByRole('button', { name: 'Create', exact: true }));
    // The form shows a command too; what is in its place after the answer is the secret.
    const dialog = page.getByRole('dialog').filter({ hasText: 'This is the secret of' });
    const secret = await dialog.locator('.command code').textContent();
    expect(user.count).toBe(4);
    const answer = await page.request.post(`${console.server.httpUrl}/auth/session`, {
      headers: { authorization: `Bearer ${secret}` },
    });
    expect(answer.status()).toBe(201);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('row', { name: new RegExp(`^${name} viewer`) }).waitFor();
    await screenshot(page, 'access-tokens');
  });

  it('who did what yesterday is read in 2', { tags: ['extended'] }, async () => {
    const { server } = console;
    await newMachine(server);
    const page = await console.open({ role: 'admin', path: '/fleet' });
    // The clock of the browser is a day ahead, so that today is its yesterday.
    await page.clock.setFixedTime(Date.now() + 86_400_000);
    const user = new Counted(page);
    await user.click(menu(page, 'Audit'));
    await user.click(page.getByRole('button', { name: 'Yesterday' }));
    await page
      .getByText(/registered /)
      .first()
      .waitFor();
    expect(user.count).toBe(2);
    await screenshot(page, 'audit-people');
  });

  it('no page wrote an error to the browser', () => expect(console.pageErrors).toEqual([]));
});
