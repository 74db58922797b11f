// @module-tag extended: src/server/settings/bind-addresses.test.ts has who gets the warning.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, Console, expectAccessible, screenshot } from './console.ts';

describe.skipIf(CHROMIUM.isMissing)(CHROMIUM.title('a server with --insecure-plaintext'), () => {
  let console: Console;
  beforeAll(async () => {
    console = await Console.start({ insecurePlaintext: true });
  });
  afterAll(() => console.stop());

  it('says so on every page', async () => {
    const page = await console.open({ role: 'viewer', path: '/machines' });
    const badge = page.getByText('Insecure plaintext');
    await badge.waitFor();
    expect(await badge.getAttribute('title')).toContain('without TLS');
    await page.getByRole('link', { name: 'Pools' }).click();
    await page.getByRole('heading', { level: 1, name: 'Pools' }).waitFor();
    await badge.waitFor();
    await expectAccessible(page);
    await screenshot(page, 'insecure-plaintext');
  });
});
