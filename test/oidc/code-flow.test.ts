// @module-tag extended: bearer.test.ts uses the same issuer; this signs in from a browser.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { oidcConfiguration } from '../../src/surfaces/access/oidc/oidc-configuration.ts';
import { CHROMIUM, Console } from '../console/console.ts';
import { CONSOLE_SECRET, startIssuer, type TestIssuer } from '../parts/issuer.ts';

describe.skipIf(CHROMIUM.isMissing)(CHROMIUM.title('the console and an issuer'), () => {
  let issuer: TestIssuer;
  let console: Console;
  let base: string;
  const dir = mkdtempSync(join(tmpdir(), 'ingot-test-oidc-'));
  beforeAll(async () => {
    issuer = await startIssuer({ groupsIn: 'userinfo' });
    const secretFile = join(dir, 'secret');
    writeFileSync(secretFile, `${CONSOLE_SECRET}\n`);
    const oidc = oidcConfiguration.parse([
      {
        name: 'corp',
        title: 'Corp SSO',
        issuer: issuer.url,
        client_id: 'ingot-console',
        client_secret_file: secretFile,
        mappings: [{ claim: 'groups', value: 'fleet-ops', role: 'operator' }],
      },
    ]);
    console = await Console.start({ configuration: { oidc } });
    // Another host than the issuer's, so that the two are different sites for the browser.
    base = console.server.httpUrl.replace('127.0.0.1', 'localhost');
    issuer.redirectTo(`${base}/auth/callback`);
  });
  afterAll(async () => {
    await console?.stop();
    await issuer?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  async function newPage(): Promise<Page> {
    const page = await console.newPage();
    // The pages of the issuer ask for a font elsewhere.
    await page.route(
      (url) => !['localhost', '127.0.0.1'].includes(url.hostname),
      (route) => route.abort(),
    );
    return page;
  }

  async function signInAs(page: Page, name: string): Promise<void> {
    await page.getByRole('link', { name: 'Sign in with Corp SSO' }).click();
    await page.getByPlaceholder('Enter any login').fill(name);
    await page.getByPlaceholder('and password').fill('anything');
    await page.getByRole('button', { name: 'Sign-in' }).click();
    await page.getByRole('button', { name: 'Continue' }).click();
  }

  it('sign in together, and the user sees the page that was asked for', async () => {
    const page = await newPage();
    const urls: string[] = [];
    page.on('request', (request) => urls.push(request.url()));
    await page.goto(`${base}/machines?filter=phase%3DREADY`);
    await signInAs(page, 'alice');
    await page.getByRole('heading', { level: 1, name: 'Machines' }).waitFor();
    expect(page.url()).toBe(`${base}/machines?filter=phase%3DREADY`);
    await page.getByText('corp:alice (operator)').waitFor();
    await page.locator('[data-live=live]').waitFor();
    const asked = new URL(urls.find((url) => url.startsWith(`${issuer.url}/auth?`)) ?? '');
    expect(asked.searchParams.get('code_challenge_method')).toBe('S256');
    expect(asked.searchParams.get('response_type')).toBe('code');
    expect(issuer.tokenAuthorizations).toEqual([expect.stringMatching(/^Basic /)]);
    const cookies = await page.context().cookies(base);
    expect(cookies.map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite])).toEqual([
      [expect.stringMatching(/^ingot_session_[0-9a-f]{8}$/), true, 'Strict'],
    ]);
    const script =
      '[...Object.values(sessionStorage), ...Object.values(localStorage), document.cookie].join()';
    expect(await page.evaluate(script)).toBe('');
    const [event] = await console.server.sql(
      `SELECT actor_id, via, metadata ->> 'issuer' AS issuer FROM events WHERE kind = 'session'`,
    );
    expect(event).toEqual({ actor_id: 'corp:alice', via: 'oidc', issuer: 'corp' });
    await page.getByRole('button', { name: /^Account and settings/ }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('link', { name: 'Sign in with Corp SSO' }).waitFor();
  });

  it('say so when the user has no role here', { tags: ['extended'] }, async () => {
    const page = await newPage();
    await page.goto(`${base}/fleet`);
    await signInAs(page, 'bob');
    await page.getByText('you have no role here').waitFor();
    expect(page.url()).toBe(`${base}/fleet`);
    expect((await page.context().cookies(base)).map(({ name }) => name)).toEqual([]);
    const refused = await console.server.sql(
      `SELECT actor_id, via FROM events WHERE kind = 'session' AND to_state = 'refused'`,
    );
    expect(refused).toEqual([{ actor_id: 'corp:bob', via: 'oidc' }]);
  });

  it('say so when the user aborts', { tags: ['extended'] }, async () => {
    const page = await newPage();
    await page.goto(`${base}/fleet`);
    await page.getByRole('link', { name: 'Sign in with Corp SSO' }).click();
    await page.getByRole('link', { name: /Cancel/ }).click();
    await page.getByText('access was denied').waitFor();
  });

  it('refuse a code that this browser did not ask for', async () => {
    const start = await fetch(`${base}/auth/login?issuer=corp`, { redirect: 'manual' });
    const state = new URL(start.headers.get('location') ?? '').searchParams.get('state');
    const cookie = (start.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    expect(start.headers.get('set-cookie')).toMatch(
      /^ingot_sign_in_[0-9a-f]{8}=[\w-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/,
    );
    const finish = async (headers: Record<string, string>, query: string) => {
      const answer = await fetch(`${base}/auth/callback?${query}`, { headers, redirect: 'manual' });
      expect(answer.headers.get('set-cookie')).not.toContain('ingot_session');
      return answer.headers.get('location');
    };
    expect(await finish({}, `code=x&state=${state}`)).toBe('/?sign_in_failed=expired');
    expect(await finish({ cookie }, 'code=x&state=other')).toBe('/?sign_in_failed=rejected');
    expect(await finish({ cookie }, `code=x&state=${state}`)).toBe('/?sign_in_failed=rejected');
    expect(await finish({ cookie: 'ingot_sign_in=bm9uc2Vuc2U' }, 'code=x')).toBe('/?sign_in_failed=expired');
  });

  it.each([
    '//evil.example/',
    '/\\evil.example',
    'https://evil.example/',
    '/%0d%0aset-cookie:x',
    '/auth/login?issuer=corp',
    'javascript:alert(1)',
    '/.//evil.example',
  ])('never lead to another site afterwards: %s', async (path) => {
    const start = await fetch(`${base}/auth/login?issuer=corp&return_to=${encodeURIComponent(path)}`, {
      redirect: 'manual',
    });
    const cookie = (start.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    const answer = await fetch(`${base}/auth/callback?error=access_denied`, {
      headers: { cookie },
      redirect: 'manual',
    });
    const target = new URL(answer.headers.get('location') ?? '', base);
    expect(target.origin).toBe(base);
    expect(answer.headers.get('location')).toMatch(/^\/(?![/\\])/);
    expect(target.pathname).not.toMatch(/^\/auth/);
  });

  it('leave the form for a token while the issuer is down', { tags: ['extended'] }, async () => {
    await issuer.goDown();
    try {
      const fresh = await startFresh();
      const location = await fetch(`${fresh.httpUrl}/auth/login?issuer=corp`, { redirect: 'manual' });
      expect(location.headers.get('location')).toBe('/?sign_in_failed=unavailable');
      await fresh.stop();
    } finally {
      await issuer.comeBack();
    }
    const page = await newPage();
    await page.goto(`${base}/?sign_in_failed=unavailable`);
    await page.getByText('The issuer is not responding').waitFor();
    await page.getByLabel('Token', { exact: true }).fill(console.server.adminToken);
    await page.keyboard.press('Enter');
    await page.getByText('admin (admin)').waitFor();
  });

  /** A server that has not read anything of the issuer yet. */
  async function startFresh() {
    const { startTestServer } = await import('../parts/server.ts');
    const oidc = oidcConfiguration.parse([
      {
        name: 'corp',
        issuer: issuer.url,
        client_id: 'ingot-console',
        mappings: [{ claim: 'groups', value: 'fleet-ops', role: 'operator' }],
      },
    ]);
    return startTestServer({ database: console.server.database, configuration: { oidc } });
  }
});
