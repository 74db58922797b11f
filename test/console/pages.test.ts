import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, Console, expectAccessible, screenshot } from './console.ts';

describe.skipIf(CHROMIUM === null)('every page', () => {
  let console: Console;
  beforeAll(async () => {
    console = await Console.start({ pools: ['gpu'] });
    const { machines } = console.server;
    for (let n = 0; n < 40; n += 1) {
      await machines.registerMachine({
        machine: {
          machineId: `rack${n % 4}-node${String(n).padStart(2, '0')}`,
          labels: { rack: `r${n % 4}`, env: n % 2 ? 'prod' : 'lab', 'fake/step-ms': '20' },
        },
      });
    }
  });
  afterAll(() => console.stop());

  const PAGES = ['Fleet', 'Machines', 'Operations', 'Nodes', 'Agents', 'Plans', 'Audit'];

  it.each(['light', 'dark'] as const)('is in order in %s colours', async (colours) => {
    const page = await console.open({ colours, role: 'admin' });
    for (const name of PAGES) {
      await page.getByRole('navigation').getByRole('link', { name }).click();
      // A keyboard and a screen reader begin at the heading of the page that came up.
      await page.locator('h1:focus', { hasText: name }).waitFor();
      await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
      await screenshot(page, `${name.toLowerCase()}-${colours}`);
      await expectAccessible(page);
    }
    expect(console.complaints).toEqual([]);
  });
});
