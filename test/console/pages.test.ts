import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, Console, expectAccessible, screenshot } from './console.ts';
import { fillFleet } from './sample-fleet.ts';

describe.skipIf(CHROMIUM.isMissing)(CHROMIUM.title('every page'), () => {
  let console: Console;
  beforeAll(async () => {
    console = await Console.start({ pools: ['gpu'] });
    await fillFleet(console.server);
  });
  afterAll(() => console.stop());

  const PAGES = ['Fleet', 'Machines', 'Operations', 'Nodes', 'Agents', 'Pools', 'Plans', 'Audit'];

  it.each(['light', 'dark'] as const)('is accessible and fits the window in %s colours', async (colours) => {
    // Not the first of them: a link to the current page opens nothing, and keeps the focus.
    const page = await console.open({ colours, role: 'admin', path: '/plans' });
    for (const name of PAGES) {
      await page.getByRole('navigation').getByRole('link', { name }).click();
      // Keyboard and screen reader users start at the heading of the new page.
      await page.locator('h1:focus', { hasText: name }).waitFor();
      await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
      await screenshot(page, `${name.toLowerCase()}-${colours}`);
      await expectAccessible(page);
      await page.setViewportSize({ width: 1024, height: 700 });
      const overflow = await page.evaluate(
        '(() => { const { scrollWidth, clientWidth } = document.querySelector("#page"); return scrollWidth - clientWidth; })()',
      );
      expect(overflow, `${name} is wider than a window of 1024 pixels`).toBeLessThanOrEqual(0);
      await page.setViewportSize({ width: 1280, height: 800 });
    }
    expect(console.pageErrors).toEqual([]);
  });
});
