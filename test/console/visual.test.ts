/** Each page looks as it did: at the widths of a phone, a tablet and two desks, in light and dark colours. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestServer } from '../parts/server.ts';
import { CHROMIUM, Console, screenshot } from './console.ts';
import { differenceOf, keepPicture } from './picture.ts';
import { fillShowcase, SHOWCASE_SERVER, type Showcase } from './showcase-fleet.ts';
import { FIXED, holdStill, maskRandomTexts } from './stable-page.ts';
import { VISUAL_PAGES } from './visual-pages.ts';

const WIDTHS = [390, 1024, 1280, 1440];
const HEIGHT = 900;
/** So many equal pictures in a row are the last word. */
const STILL = 2;
const PAUSE_MS = 250;

describe.skipIf(CHROMIUM.isMissing)(CHROMIUM.title('pictures of pages'), () => {
  let console: Console;
  let session: Session;
  beforeAll(async () => {
    console = await Console.start();
    session = await signIn(console.server);
  });
  afterAll(() => console.stop());

  // The others, which need a fleet, are costly.
  it('start looks as it did', { timeout: 60_000 }, () =>
    expectToLook(console, session, { name: 'start', path: '/start' }),
  );
});

describe.skipIf(CHROMIUM.isMissing)(
  CHROMIUM.title('pictures of the pages of a fleet'),
  { tags: ['extended'] },
  () => {
    let console: Console;
    let showcase: Showcase;
    let session: Session;
    beforeAll(async () => {
      console = await Console.start(SHOWCASE_SERVER);
      showcase = await fillShowcase(console.server, { anchor: FIXED, running: 'as it is' });
      session = await signIn(console.server);
    }, 180_000);
    afterAll(() => console.stop());

    it.each(Object.entries(VISUAL_PAGES))('%s looks as it did', { timeout: 60_000 }, (name, pathOf) =>
      expectToLook(console, session, { name, path: pathOf(showcase) }),
    );
    it('no page wrote an error to the browser', () => expect(console.pageErrors).toEqual([]));
  },
);

/** The cookie of a session. One for all pages: each sign-in is an event and a session, which pages show. */
interface Session {
  readonly name: string;
  readonly value: string;
  readonly url: string;
}

async function expectToLook(
  console: Console,
  session: Session,
  { name, path }: { readonly name: string; readonly path: string },
): Promise<void> {
  const page = await console.newPage();
  const settled = await holdStill(page);
  await page.context().addCookies([session]);
  await page.goto(`${console.server.httpUrl}${path}`);
  await page.locator('[data-live=live]').waitFor();
  await page.evaluate('document.fonts.ready.then(() => true)');
  const differences: string[] = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: HEIGHT });
    for (const colours of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: colours });
      const picture = `${name}-${width}-${colours}`;
      differences.push(await compareWhenStill(page, settled, picture));
      await screenshot(page, picture);
    }
  }
  expect(differences.filter((text) => text !== '')).toEqual([]);
}

/**
 * A busy machine may still lay out the page for another width. What differs is drawn again, until it no longer does, or until it
 * has been still for a while; only that is a difference.
 */
async function compareWhenStill(page: Page, settled: () => Promise<void>, name: string): Promise<string> {
  let picture = await pictureOf(page, settled);
  let difference = differenceOf(name, picture);
  for (let still = 0; difference !== '' && still < STILL; ) {
    await sleep(PAUSE_MS);
    const next = await pictureOf(page, settled);
    still = next.equals(picture) ? still + 1 : 0;
    picture = next;
    difference = differenceOf(name, picture);
  }
  return difference === '' ? '' : keepPicture(name, picture);
}

async function signIn({ httpUrl, adminToken }: TestServer): Promise<Session> {
  const headers = { authorization: `Bearer ${adminToken}` };
  const answer = await fetch(`${httpUrl}/auth/session`, { method: 'POST', headers });
  const [, name = '', value = ''] = /^([^=]+)=([^;]+)/.exec(answer.headers.get('set-cookie') ?? '') ?? [];
  return { name, value, url: httpUrl };
}

/** Once everything is there and has been drawn. */
async function pictureOf(page: Page, settled: () => Promise<void>): Promise<Buffer> {
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
  await settled();
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
  await maskRandomTexts(page);
  return page.screenshot({ animations: 'disabled', caret: 'hide' });
}
