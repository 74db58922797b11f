// @module-tag extended: machine-page.test.ts reads live data; this leaves pages open for long.
/** A console that stays open all day: page errors, lost connections, server updates and hidden tabs. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MachineFlag_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { newMachine, run } from '../api/fleet.ts';
import { CHROMIUM, Console } from './console.ts';

const WATCH = '**/baremetal.fleet.v1.FleetService/WatchEvents';

describe.skipIf(CHROMIUM.isMissing)(CHROMIUM.title('kept open all day'), () => {
  let console: Console;
  let failed: string;
  let operationId: string;
  beforeAll(async () => {
    console = await Console.start();
    failed = await newMachine(console.server, {
      phase: 'MAINTENANCE',
      labels: { 'fake/fail-step': 'repave' },
    });
    ({ operationId } = await run(console.server, 'REIMAGE', failed, { imageRef: 'ubuntu-2204' }));
  });
  afterAll(() => console.stop());

  it('from the fleet to a list, with new events, and back', async () => {
    const page = await console.open({ path: '/fleet' });
    await page.getByRole('link', { name: 'View all failed' }).click();
    await page.getByRole('link', { name: operationId }).waitFor();
    const [answered] = await Promise.all([
      page.waitForResponse((response) => response.url().endsWith('/ListOperations')),
      newMachine(console.server, { phase: 'MAINTENANCE' }),
    ]);
    await answered.finished();
    await page.goBack();
    await page.getByRole('heading', { name: 'Recent failures' }).waitFor();
    await page.getByRole('link', { name: 'Fleet' }).waitFor();
    expect(console.pageErrors).toEqual([]);
  });

  it('a page that fails to load does not break the others', async () => {
    const page = await console.open({ path: '/fleet' });
    await page.route('**/assets/plans-page-*', (route) => route.abort());
    await page.getByRole('link', { name: 'Plans' }).click();
    await page.getByText('Failed to load this page').waitFor();
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByRole('heading', { level: 1, name: 'Audit' }).waitFor();
    console.pageErrors.length = 0;
  });

  it.each([
    ['a machine', () => `/machines/${failed}`],
    ['an operation', () => `/operations/${operationId}`],
  ])('%s scrolls inside the console, and fits 1024 pixels', async (_name, path) => {
    const page = await console.open({ path: path(), width: 1024 });
    await page.getByText('could not be written').first().waitFor();
    await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
    const room = (await page.evaluate(
      `(() => { const { scrollHeight } = document.scrollingElement; const page = document.querySelector('#page');
        return { below: scrollHeight - innerHeight, beside: page.scrollWidth - page.clientWidth }; })()`,
    )) as { below: number; beside: number };
    expect(room.below).toBeLessThanOrEqual(0);
    expect(room.beside).toBeLessThanOrEqual(0);
  });

  it('polls while the event stream is down, and shows the age of its data', async () => {
    const { secret } = await console.server.admin.createToken({ name: 'cut-off', role: 'viewer' });
    const page = await console.newPage();
    await page.clock.install();
    await console.signIn(page, secret);
    await page.route(WATCH, (route) => route.abort());
    await page.goto(`${console.server.httpUrl}/fleet`);
    await page.getByRole('heading', { name: 'Pools' }).waitFor();
    await page.locator('[data-live=reconnecting]').waitFor();
    const asked = page.waitForRequest('**/baremetal.fleet.v1.FleetService/GetOverview');
    await page.clock.fastForward(16_000);
    await asked;
    await page.getByText(/reconnecting · updated [0-5] s ago/).waitFor();
    await page.unroute(WATCH);
    await page.clock.fastForward(16_000);
    await page.locator('[data-live=live]').waitFor();
  });

  it('a background tab closes its stream, and catches up when it becomes visible', async () => {
    const page = await console.open({ path: '/fleet' });
    const tab = await page.context().newPage();
    await tab.clock.install();
    await tab.addInitScript(
      `window.isHidden = true;
       Object.defineProperty(document, 'visibilityState', { get: () => window.isHidden ? 'hidden' : 'visible' });`,
    );
    await tab.goto(`${console.server.httpUrl}/fleet`);
    await tab.locator('[data-live=live]').waitFor();
    // The clock is paused, so that the stream does not end because it is idle.
    await tab.clock.pauseAt(((await tab.evaluate('Date.now()')) as number) + 2_000);
    await tab.clock.fastForward(15_000);
    await tab.locator('[data-live=paused]').waitFor();
    await tab.clock.resume();
    await tab.evaluate("window.isHidden = false; document.dispatchEvent(new Event('visibilitychange'))");
    await tab.locator('[data-live=live]').waitFor();
  });

  it('Enter in the palette waits for the results of the whole text', async () => {
    const wanted = `${failed}x`;
    await console.server.machines.registerMachine({ machine: { machineId: wanted } });
    const page = await console.open({ path: '/fleet' });
    await page.keyboard.press('Control+k');
    await page.keyboard.type(failed);
    await page
      .getByRole('option', { name: `Machine ${failed}`, exact: false })
      .first()
      .waitFor();
    await page.keyboard.type('x');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: wanted }).waitFor();
  });

  it('keys move through a list and keep the highlighted row visible', async () => {
    for (let n = 0; n < 32; n += 1)
      await console.server.machines.registerMachine({ machine: { machineId: `walked-${n}` } });
    const page = await console.open({ path: '/audit?view=events' });
    await page.locator('tbody tr').nth(30).waitFor();
    for (let n = 0; n < 31; n += 1) await page.keyboard.press('j');
    const marked = page.locator('tr[aria-selected=true]');
    await expect.poll(async () => ((await marked.boundingBox())?.y ?? 10_000) < 800).toBe(true);
  });

  it('the fleet shows the flag that blocks a machine, and a removed machine is shown as removed', async () => {
    const { server } = console;
    const flagged = await newMachine(server);
    await server.admin.flagMachine({ machineId: flagged, flag: MachineFlag_Value.RMA, reason: 'a fan' });
    const removed = await newMachine(server);
    await server.sql(`UPDATE machines SET service = 'deleted' WHERE machine_id = $1`, [removed]);
    const page = await console.open({ path: '/fleet' });
    await page.getByRole('region', { name: 'Needs attention' }).getByText(`${flagged}: a fan`).waitFor();
    await page.goto(`${server.httpUrl}/machines/${removed}`);
    await page.locator('.effective').getByText('Permanently removed.').waitFor();
  });
});
