/** A server with its console in a real browser, and users who are signed in. */
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import axe, { type RunOptions } from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import type { Role } from '../../src/domain/actor.ts';
import { sharedChromium } from '../parts/chromium.ts';
import { needs } from '../parts/debian-packages.ts';
import { startTestServer, type TestServer, type TestServerOptions } from '../parts/server.ts';

const SCREENSHOTS = fileURLToPath(new URL('../../dist/screenshots/', import.meta.url));

export const CHROMIUM = needs('chromium');

export interface OpenOptions {
  readonly role?: Role;
  readonly path?: string;
  readonly colours?: 'light' | 'dark';
  readonly width?: number;
  /** `kept`: by the service worker, as in a browser of a user. */
  readonly shell?: 'from the server' | 'kept';
}

export class Console {
  server: TestServer;
  readonly #browser: Browser;
  readonly #options: TestServerOptions;
  /** Errors that pages logged to the browser's console. */
  readonly pageErrors: string[] = [];
  #users = 0;

  private constructor(server: TestServer, browser: Browser, options: TestServerOptions) {
    this.server = server;
    this.#browser = browser;
    this.#options = options;
  }

  static async start(options: TestServerOptions = {}): Promise<Console> {
    const [server, browser] = await Promise.all([startTestServer(options), sharedChromium()]);
    return new Console(server, browser, options);
  }

  async stop(): Promise<void> {
    await this.server.stop();
  }

  /** Stops the server and keeps its database. Returns a function that starts it again. */
  async stopServer(): Promise<() => Promise<void>> {
    const httpPort = Number(new URL(this.server.httpUrl).port);
    await this.server.stop();
    return async () => {
      this.server = await startTestServer({ ...this.#options, httpPort });
    };
  }

  /** Opens a page with a token of that role, already signed in. */
  async open({
    role = 'operator',
    path = '/',
    colours = 'light',
    width = 1280,
    shell = 'from the server',
  }: OpenOptions = {}): Promise<Page> {
    this.#users += 1;
    const { secret } = await this.server.admin.createToken({ name: `${role}-${this.#users}`, role });
    const page = await this.newPage({ colours, width, shell });
    await this.signIn(page, secret);
    await page.goto(`${this.server.httpUrl}${path}`);
    await page.locator('[data-live=live]').waitFor();
    return page;
  }

  /** Gives the browser of the page the cookie of a session. */
  async signIn(page: Page, secret: string): Promise<void> {
    const headers = { authorization: `Bearer ${secret}` };
    const answer = await page.request.post(`${this.server.httpUrl}/auth/session`, { headers });
    expect(answer.status()).toBe(201);
  }

  async newPage({
    colours = 'light',
    width = 1280,
    shell = 'from the server',
  }: Pick<OpenOptions, 'colours' | 'width' | 'shell'> = {}): Promise<Page> {
    const context = await this.#browser.newContext({
      // It fetches all files in every new context.
      serviceWorkers: shell === 'kept' ? 'allow' : 'block',
      viewport: { width, height: 800 },
      colorScheme: colours,
      reducedMotion: 'reduce',
    });
    // A page that stays open goes on to draw what later tests do.
    onTestFinished(() => context.close());
    context.setDefaultTimeout(25_000);
    const page = await context.newPage();
    page.on('pageerror', (error) => this.pageErrors.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error' && !isExpected(message.text())) this.pageErrors.push(message.text());
    });
    return page;
  }
}

/** The browser logs every failed request, also those that a test makes fail on purpose. */
function isExpected(text: string): boolean {
  return text.startsWith('Failed to load resource');
}

interface Finding {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary?: string }>;
}

const EVERY_RULE = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'];

/** Expects no serious finding of axe: contrast, names, roles, order of headings, … */
export async function expectAccessible(page: Page): Promise<void> {
  await expectNoFinding(page, { runOnly: EVERY_RULE });
}

/** The same, of a page in light colours, and enough contrast in dark ones: nothing else depends on colours. */
export async function expectAccessibleInAllColours(page: Page): Promise<void> {
  await expectAccessible(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  await expectNoFinding(page, { runOnly: { type: 'rule', values: ['color-contrast'] } });
  await page.emulateMedia({ colorScheme: 'light' });
}

async function expectNoFinding(page: Page, options: RunOptions): Promise<void> {
  // Not as a script of the page: its Content-Security-Policy would block it.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe.source);
  const findings = (await page.evaluate(
    `axe.run(document, ${JSON.stringify(options)}).then((r) => r.violations)`,
  )) as Finding[];
  const serious = findings
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('\n')}`,
    );
  expect(serious).toEqual([]);
}

/** With INGOT_SCREENSHOTS=1, saved under dist/screenshots: no test depends on them, and each costs a rendering without a GPU. */
export async function screenshot(page: Page, name: string): Promise<void> {
  if (process.env.INGOT_SCREENSHOTS !== '1') return;
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: `${SCREENSHOTS}${name}.png` });
}
