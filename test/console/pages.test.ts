import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, Console, expectAccessibleInAllColours, screenshot } from './console.ts';
import { fillFleet } from './sample-fleet.ts';

describe.skipIf(CHROMIUM.isMissing)(CHROMIUM.title('every page'), () => {
  let console: Console;
  beforeAll(async () => {
    console = await Console.start({ pools: ['gpu'] });
    await fillFleet(console.server);
  });
  afterAll(() => console.stop());

  const PAGES = [
    'Fleet',
    'Machines',
    'Racks',
    'Operations',
    'Rollouts',
    'Nodes',
    'Agents',
    'Pools',
    'Images',
    'Workflows',
    'Plans',
    'Providers',
    'Budgets',
    'Access',
    'Audit',
  ];

  it('is accessible in light and dark colours, and fits the window', {
    tags: ['extended'],
    timeout: 60_000,
  }, async () => {
    // Not the first of them: a link to the current page opens nothing, and keeps the focus.
    const page = await console.open({ role: 'admin', path: '/plans' });
    for (const name of PAGES) {
      await page.getByRole('navigation').getByRole('link', { name }).click();
      // Keyboard and screen reader users start at the heading of the new page.
      await page.locator('h1:focus', { hasText: name }).waitFor();
      await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
      await screenshot(page, `${name.toLowerCase()}-light`);
      await expectAccessibleInAllColours(page);
      for (const width of [2560, 1024, 390]) {
        await page.setViewportSize({ width, height: 700 });
        expect(
          await overflowOf(page),
          `${name} is wider than a window of ${width} pixels`,
        ).toBeLessThanOrEqual(0);
      }
      await page.setViewportSize({ width: 1280, height: 800 });
    }
    expect(console.pageErrors).toEqual([]);
  });

  it.each([1024, 1280])(
    'cuts no heading, no id and no state of a machine at %i pixels',
    {
      tags: ['extended'],
    },
    async (width) => {
      await console.server.machines.registerMachine({
        machine: {
          machineId: 'gpu-node-r42-u16-b',
          spec: { location: { site: 'frankfurt-2', row: 'a', rack: 'r42', unit: 'U16' } },
        },
      });
      const page = await console.open({ path: '/machines', width });
      await page.getByText('flagged for return').waitFor();
      expect(await page.evaluate<string[]>(CUT_TEXTS)).toEqual([]);
      expect(await page.evaluate<number>(SIDEWAYS)).toBe(0);
      await page.setViewportSize({ width: 390, height: 800 });
      await expect.poll(() => page.evaluate<number>(SIDEWAYS)).toBe(0);
    },
  );
});

/** The headings of the table, and the states and ids in it, that have less room than their text. */
const CUT_TEXTS = `(() => {
  const rightOf = (element) => { const range = document.createRange(); range.selectNodeContents(element); return range.getBoundingClientRect().right; };
  const roomOf = (element) => element.getBoundingClientRect().right - Number.parseFloat(getComputedStyle(element).paddingRight);
  const headings = [...document.querySelectorAll('.machine-table th')].filter((th) => rightOf(th) > roomOf(th) + 0.05);
  const states = [...document.querySelectorAll('.machine-table .headline > span')].filter((text) => text.scrollWidth > text.clientWidth);
  const ids = [...document.querySelectorAll('.machine-table td.held')].filter((td) => rightOf(td) > roomOf(td) + 0.05);
  return [...headings, ...states, ...ids].map(({ textContent }) => textContent);
})()`;

/** How far the table of machines scrolls sideways. */
const SIDEWAYS = `(() => {
  const { scrollWidth, clientWidth } = document.querySelector('.machine-scroller');
  return scrollWidth - clientWidth;
})()`;

/** How far the console or its page is wider than the window. */
function overflowOf(page: Page): Promise<number> {
  return page.evaluate<number>(
    `(() => { const { scrollWidth, clientWidth } = document.querySelector('#page');
      return Math.max(scrollWidth - clientWidth, document.scrollingElement.scrollWidth - innerWidth); })()`,
  );
}
