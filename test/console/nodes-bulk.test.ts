// @module-tag extended: nodes/many.test.ts has the same calls; reimage.test.ts works in the browser.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, createNode, nodeOf, prepareInstall, report, setState } from '../nodes/rest.ts';
import { CHROMIUM, Console, expectAccessible } from './console.ts';

describe.skipIf(CHROMIUM.isMissing)(CHROMIUM.title('nodes that are selected'), () => {
  let console: Console;
  beforeAll(async () => {
    console = await Console.start();
    await prepareInstall(console.server);
  });
  afterAll(() => console.stop());

  it('are tagged and approved together, and each rejection is shown with its reason', async () => {
    const { server } = console;
    const first = await createNode(server);
    const second = await createNode(server);
    const active = await createNode(server);
    for (const state of ['pending', 'installing', 'installed']) await setState(server, active.id, state);
    const page = await console.open({ path: '/nodes' });
    const approve = page.getByRole('button', { name: 'Approve selected' });
    await approve.waitFor();
    expect(await approve.getAttribute('aria-disabled')).toBe('true');
    await page.getByLabel('Select all shown nodes').check();
    await page.getByText('3 selected').waitFor();
    await page.getByRole('button', { name: 'Tag selected' }).click();
    await page.getByLabel('Tags to add').fill('GPU, rack-1');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Updated 3 of 3 nodes').waitFor();
    expect((await nodeOf(server, second.id)).tags).toEqual(['gpu', 'rack-1']);
    await page.getByText('None selected').waitFor();

    await page.getByLabel(`Select ${first.id}`).check();
    await page.getByLabel(`Select ${active.id}`).check();
    await approve.click();
    await page.getByRole('dialog').getByRole('button', { name: 'Approve', exact: true }).click();
    const refused = page.getByRole('alert');
    await refused.getByText('Invalid state transition').waitFor();
    expect(await refused.textContent()).toContain(active.id);
    expect(await refused.textContent()).not.toContain(first.id);
    expect((await nodeOf(server, first.id)).state).toBe('pending');
    await page.getByRole('button', { name: 'Close' }).click();

    await report(server, first.mac, 'started');
    await server.sql(
      `UPDATE nodes SET state_changed_at = now() - interval '2 days', last_seen_at = now() - interval '1 day' WHERE machine_id = $1`,
      [first.id],
    );
    await page.getByRole('button', { name: 'stalled', exact: true }).click();
    await page.getByLabel(`Select ${second.id}`).waitFor({ state: 'detached' });
    await page.getByLabel(`Select ${first.id}`).waitFor();
    expect((await call(server, 'GET', '/nodes/stalled')).body.total).toBe(1);
    expect(console.pageErrors).toEqual([]);
  });

  it('cannot be changed by a viewer', { tags: ['extended'] }, async () => {
    const page = await console.open({ path: '/nodes', role: 'viewer' });
    await page.getByLabel('Select all shown nodes').check();
    const tag = page.getByRole('button', { name: 'Tag selected' });
    expect(await tag.getAttribute('aria-disabled')).toBe('true');
  });
});
