// @module-tag extended: fleet/stalled.test.ts has which operations are stalled.
/** A step that is slower than 99 % of its own history says so where people look. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { holdNewOperations, newMachine } from '../api/fleet.ts';
import { standingOperation } from '../fleet/standing-operation.ts';
import { CHROMIUM, Console, expectAccessible } from './console.ts';

const WORDS = 'slower than 99 % of its history: 14 min, usually 3 min';

describe.skipIf(CHROMIUM.isMissing)(CHROMIUM.title('a stalled step'), () => {
  let console: Console;
  let slow: string;
  beforeAll(async () => {
    console = await Console.start();
    const { server } = console;
    await holdNewOperations(server);
    const past = await newMachine(server);
    for (let n = 0; n < 30; n += 1)
      await standingOperation(server, `op-past-${n}`, past, n === 0 ? 5 : 3, 'completed');
    slow = await newMachine(server);
    await standingOperation(server, 'op-slow', slow, 14, 'running');
    await standingOperation(server, 'op-usual', await newMachine(server), 4, 'running');
  });
  afterAll(() => console.stop());

  it('says so on the page of its operation, and one that is as usual does not', async () => {
    const page = await console.open({ path: '/operations/op-slow' });
    const steps = page.getByRole('region', { name: 'Steps' });
    await steps.getByText(`Stalled ${WORDS}`).waitFor();
    await page.getByText(`stalled ${WORDS}`, { exact: true }).waitFor();
    await expectAccessible(page);
    await page.goto(`${console.server.httpUrl}/operations/op-usual`);
    await steps.getByText('wait', { exact: true }).waitFor();
    expect(await steps.getByText('Stalled').count()).toBe(0);
  });

  it('is in "Needs attention" of the fleet, with a link to its operation', async () => {
    const page = await console.open({ path: '/fleet' });
    const row = page
      .getByRole('region', { name: 'Needs attention' })
      .getByRole('row')
      .filter({ hasText: 'Stalled operations' });
    await row.getByText(`wait, ${WORDS}`).waitFor();
    expect(await row.getByRole('cell').first().textContent()).toBe('1');
    // Before any number, though no machine is in a state that needs someone.
    await page.getByRole('status').getByRole('link', { name: '1 operation stalled' }).click();
    await page.getByRole('link', { name: slow, exact: true }).waitFor();
    await page.goBack();
    await row.getByRole('link', { name: `Reimage ${slow}` }).click();
    await page.waitForURL('**/operations/op-slow');
  });

  it('is no excuse for other trouble: what is not as it should be is said first, and the view of it has it', async () => {
    const { server } = console;
    const overdue = await newMachine(server);
    await server.sql(
      `UPDATE machines SET phase = 'MAINTENANCE', maintenance = '{"since": "2026-01-01T00:00:00.000Z", "until": "2026-01-01T01:00:00.000Z",
         "reason": "", "by": "admin:admin", "exitsByItself": false}' WHERE machine_id = $1`,
      [overdue],
    );
    const page = await console.open({ path: '/fleet' });
    await page.getByRole('status').getByRole('link', { name: '1 not as it should be' }).click();
    await page.getByRole('link', { name: overdue, exact: true }).waitFor();
    await page.goto(`${server.httpUrl}/machines`);
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByRole('button', { name: 'Needs attention', exact: true }).click();
    await page.getByText('1 machine', { exact: true }).first().waitFor();
    await page.getByRole('link', { name: overdue, exact: true }).waitFor();
  });

  it('is the headline of its machine', async () => {
    const page = await console.open({ path: `/machines/${slow}` });
    await page.locator('.page-head').getByText('reimage stalled').waitFor();
  });
});
