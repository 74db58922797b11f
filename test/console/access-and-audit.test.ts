// @module-tag extended: api/approvals.test.ts creates tokens.
/** Access and Audit, beyond what is counted: a token from its first use to its end, and what one person did on some days. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AdminService } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { fresh, newMachine } from '../api/fleet.ts';
import { CHROMIUM, Console, expectAccessible } from './console.ts';

const DAY_MS = 86_400_000;

describe.skipIf(CHROMIUM.isMissing)(CHROMIUM.title('access and audit'), () => {
  let console: Console;
  beforeAll(async () => {
    console = await Console.start();
  });
  afterAll(() => console.stop());

  const statusWith = async (secret: string) => {
    const headers = { authorization: `Bearer ${secret}` };
    return (await fetch(`${console.server.httpUrl}/auth/session`, { method: 'POST', headers })).status;
  };

  it('a token is listed with its last use and its end, rotated, and revoked', {
    timeout: 60_000,
  }, async () => {
    const name = fresh('ci');
    const { secret: former } = await console.server.admin.createToken({ name, role: 'viewer' });
    expect(await statusWith(former)).toBe(201);
    const page = await console.open({ role: 'admin', path: '/access' });
    const row = page.getByRole('row', { name: new RegExp(`^${name} viewer`) });
    await row.getByText(/^in \d+ d/).waitFor();

    await row.getByRole('button', { name: `Rotate ${name}` }).click();
    const rotate = page.getByRole('dialog', { name: `Rotate ${name}` });
    await rotate.getByLabel('The former secret stays valid for').selectOption('not at all');
    await rotate.getByLabel('The new one expires after').selectOption('7 days');
    await rotate.getByText(`ingot token rotate ${name} --overlap 0s --expires 7d`).waitFor();
    await expectAccessible(page);
    await rotate.getByRole('button', { name: 'Rotate', exact: true }).click();
    const shown = page.getByRole('dialog').filter({ hasText: 'This is the secret of' });
    const secret = (await shown.locator('.command code').textContent()) ?? '';
    await page.getByRole('button', { name: 'Done' }).click();
    await expect.poll(() => statusWith(former)).toBe(401);
    expect(await statusWith(secret)).toBe(201);
    await page.reload();
    await row.getByText(/from 127\.0\.0\.1/).waitFor();
    await row.getByText(/expires soon|^in 6 d/).waitFor();

    await row.getByRole('button', { name: `Revoke ${name}` }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByText(`Token ${name} is revoked`).waitFor();
    await expect.poll(() => statusWith(secret)).toBe(401);
  });

  it('what one person did on some days is read, and exported as it is shown', {
    timeout: 60_000,
  }, async () => {
    const { server } = console;
    await newMachine(server);
    const page = await console.open({ role: 'admin', path: '/audit' });
    const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
    const today = Date.now();
    await page.getByRole('button', { name: 'Between days' }).click();
    await page.getByLabel('From', { exact: true }).fill(dayOf(today - 3 * DAY_MS));
    await page.getByLabel('To', { exact: true }).fill(dayOf(today - 2 * DAY_MS));
    await page.getByText('No one did anything then').waitFor();
    await page.getByLabel('To', { exact: true }).fill(dayOf(today + DAY_MS));
    await page
      .getByText(/registered /)
      .first()
      .waitFor();
    await page.getByLabel('By').selectOption('admin');
    await page
      .getByText(/registered /)
      .first()
      .waitFor();
    await expectAccessible(page);
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export CSV' }).click(),
    ]);
    const [head = '', ...lines] = readFileSync(await file.path(), 'utf8')
      .trim()
      .split('\r\n');
    const actor = head.split(',').indexOf('actor_id');
    expect(lines.length).toBeGreaterThan(0);
    expect(new Set(lines.map((line) => line.split(',')[actor]))).toEqual(new Set(['admin']));
  });

  it('work on many machines is one line, and people are offered who did nothing recently', async () => {
    const { server } = console;
    const idle = fresh('idle');
    await server.admin.createToken({ name: idle, role: 'viewer' });
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push(await newMachine(server));
    const page = await console.open({ role: 'admin', path: '/audit' });
    const line = page
      .getByRole('listitem')
      .filter({ hasText: /registered \d+ machines/ })
      .first();
    await line.waitFor();
    await line.getByText(/^Machines, since/).click();
    await line.getByRole('link', { name: ids[0] ?? '', exact: true }).waitFor();
    await page.getByLabel('By').selectOption(idle);
    await page.getByText('No one did anything then').waitFor();
    await expectAccessible(page);
  });

  it('sign-ins and refused calls are not what people did, until they are asked for', async () => {
    const { server } = console;
    const name = fresh('curious');
    const { secret } = await server.admin.createToken({ name, role: 'operator' });
    const refusal = server.client(AdminService, secret).listTokens({});
    await expect(refusal).rejects.toThrow();
    await newMachine(server);
    const page = await console.open({ role: 'admin', path: '/audit' });
    await page
      .getByText(/registered /)
      .first()
      .waitFor();
    const refused = page.getByRole('listitem').filter({ hasText: `${name} was refused` });
    const signedIn = page.getByRole('listitem').filter({ hasText: 'signed in' });
    expect(await refused.or(signedIn).count()).toBe(0);
    await page.getByRole('button', { name: 'Sign-ins and refused calls' }).click();
    await signedIn.first().waitFor();
    await refused.first().waitFor();
  });

  it('rows are lower in the compact density, which stays', async () => {
    await newMachine(console.server);
    const page = await console.open({ path: '/machines' });
    const height = async () =>
      (await page.locator('.machine-table tbody tr[data-place="0"]').boundingBox())?.height;
    expect(await height()).toBe(40);
    await page.getByRole('button', { name: /^Account and settings/ }).click();
    await page.getByLabel('Density').selectOption('compact');
    await page.reload();
    await page.locator('.machine-table tbody tr[data-place="0"]').waitFor();
    expect(await height()).toBe(32);
  });

  it('no page wrote an error to the browser', () => expect(console.pageErrors).toEqual([]));
});
