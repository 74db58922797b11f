import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { machineView } from '../../src/cli/rendering/machine-view.ts';
import { SPEC_FIELD_NAMES, SPEC_FIELDS } from '../../src/domain/machine/spec/spec-field.ts';
import { MachineFlag_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { boot, call, nodeOf, prepareInstall } from '../nodes/rest.ts';
import { CHROMIUM, Console, expectAccessible, expectAccessibleInAllColours, screenshot } from './console.ts';

describe.skipIf(CHROMIUM.isMissing)(CHROMIUM.title('the page of a machine'), () => {
  let console: Console;
  beforeAll(async () => {
    console = await Console.start({ pools: ['gpu'] });
  });
  afterAll(() => console.stop());

  async function register(machineId: string, labels: Record<string, string> = {}): Promise<void> {
    await console.server.machines.registerMachine({ machine: { machineId, labels } });
  }

  async function inMaintenance(machineId: string, labels: Record<string, string> = {}): Promise<void> {
    await register(machineId, { 'fake/step-ms': '20', ...labels });
    await console.server.machines.enterMaintenance({ machineId, requestId: 'enter' });
    await expect
      .poll(async () => machineView(await console.server.machines.getMachine({ machineId })).effectiveState)
      .toBe('MAINTENANCE');
  }

  const panel = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
  const tab = (page: Page, name: string) =>
    page.getByRole('navigation', { name: 'Machine', exact: true }).getByRole('link', { name });

  it('explains its state, and what to do first where an action is not available', async () => {
    await register('new-1');
    const page = await console.open({ path: '/machines/new-1' });
    await page.getByText('because its phase is FACTORY_READY: it was never provisioned').waitFor();
    const layers = page.getByRole('region', { name: 'State layers' });
    await layers.getByText('new, never provisioned').waitFor();
    expect(await layers.getByRole('listitem').count()).toBe(1);
    const reimage = page.getByRole('button', { name: 'Reimage', exact: true });
    expect(await reimage.getAttribute('aria-disabled')).toBe('true');
    await reimage.hover();
    await page.getByRole('tooltip').getByText('Enter maintenance first.').waitFor();
    // A click does nothing.
    await reimage.click({ force: true });
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  it('reimages after the name was typed, with live progress from start to end', {
    tags: ['extended'],
  }, async () => {
    await inMaintenance('story-1', { 'fake/step-ms': '400' });
    const page = await console.open({ path: '/machines/story-1' });
    await page.getByRole('button', { name: 'Reimage', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Reimage: story-1' });
    await dialog.getByRole('combobox').fill('ubuntu-2204');
    const go = dialog.getByRole('button', { name: 'Reimage', exact: true });
    expect(await go.getAttribute('aria-disabled')).toBe('true');
    await dialog.getByRole('textbox').fill('story-1');
    await dialog.getByText('ingot reimage story-1 --image ubuntu-2204').waitFor();
    await go.click();
    await page.getByText('because operation op-').waitFor();
    await panel(page, 'Current operation').getByText('Repaving').waitFor();
    await screenshot(page, 'machine-busy');
    await panel(page, 'Last operation').getByText('100%').waitFor();
    await page.getByText('because its phase is MAINTENANCE').waitFor();
    const { operations } = await console.server.operations.listOperations({
      filter: 'machine_id = story-1 AND type = REIMAGE',
    });
    expect(operations.map(({ params }) => params.image_ref)).toEqual(['ubuntu-2204']);
    await tab(page, 'Operations').click();
    await page.getByRole('row', { name: /Reimage.*SUCCEEDED/ }).waitFor();
    expect(page.url()).toContain('/machines/story-1/operations');
  });

  it('shows how its upstream drifted and since when, and lets the operator force a service state', {
    tags: ['extended'],
  }, async () => {
    await register('drifted-1');
    const { server } = console;
    await server.sql(
      `UPDATE machines SET phase = 'READY', service = 'quarantined', presence = 'ready', pool = 'gpu', observed = $2
       WHERE machine_id = $1`,
      [
        'drifted-1',
        JSON.stringify({
          ...{ source: 'site-a', state: 'Broken', power: 'off', upstreamId: 'abc123' },
          at: new Date(Date.now() - 3_600_000).toISOString(),
        }),
      ],
    );
    await server.sql(
      `INSERT INTO upstream_reads (provider, due_at, started_at, read_at, failure)
       VALUES ('site-a', now(), now(), now() - interval '2 minutes', 'it lists none of its machines')
       ON CONFLICT DO NOTHING`,
    );
    const fleet = await console.open({ path: '/' });
    const unread = panel(fleet, 'Upstream errors').getByRole('row', { name: /site-a/ });
    await unread.getByText('it lists none of its machines').waitFor();
    const page = await console.open({ path: '/machines/drifted-1' });
    const layers = page.getByRole('region', { name: 'State layers' });
    await layers.getByText('site-a says Broken, and a node that is active should be Deployed').waitFor();
    await layers.getByText('Last read failed: it lists none of its machines.').waitFor();
    await layers.getByText(/Seen 2\s?m.* ago/).waitFor();
    const next = panel(page, 'Next steps');
    await next
      .getByText(/it is quarantined: site-a says Broken, seen .* UTC/i)
      .first()
      .waitFor();
    await next.getByRole('button', { name: 'Onboard', exact: true }).waitFor();
    await screenshot(page, 'machine-drifted');
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('button', { name: /^Set service state/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('radio', { name: /active/ }).check();
    await dialog.getByRole('textbox', { name: /Reason/ }).fill('only a flag');
    const go = dialog.getByRole('button', { name: 'Set service state', exact: true });
    await go.click();
    await dialog.getByText('to set it all the same, force it with a reason').waitFor();
    await dialog.getByRole('checkbox', { name: /Force/ }).check();
    await go.click();
    await next.getByText('forced by').waitFor();
    const { machineId, status } = await server.machines.getMachine({ machineId: 'drifted-1' });
    expect([machineId, status?.service]).toEqual(['drifted-1', 'active']);
  });

  it('offers the action that unblocks a failure, which resolves it', { tags: ['extended'] }, async () => {
    await inMaintenance('failing-1', { 'fake/fail-step': 'reboot' });
    await console.server.machines.rebootMachine({ machineId: 'failing-1', requestId: 'r' });
    const page = await console.open({ path: '/machines/failing-1' });
    const retry = panel(page, 'Next steps').getByRole('button', { name: 'Retry stage' });
    await retry.waitFor();
    await console.server.machines.updateMachine({
      machine: { machineId: 'failing-1' },
      updateMask: { paths: ['labels.fake/fail-step'] },
    });
    await retry.click();
    await page.getByRole('dialog').getByRole('textbox', { name: 'Reason' }).fill('fixed');
    await page.getByRole('dialog').getByRole('button', { name: 'Retry stage', exact: true }).click();
    await page.getByText('because its phase is MAINTENANCE').waitFor();
    await panel(page, 'Last operation').getByText('SUCCEEDED', { exact: true }).waitFor();
  });

  it('edits spec and labels, with errors at their fields and the changes of others', {
    tags: ['extended'],
  }, async () => {
    await register('edited-1', { rack: 'r1', row: 'a' });
    const page = await console.open({ path: '/machines/edited-1/configuration' });
    const spec = panel(page, 'Spec and labels');
    await spec.getByRole('button', { name: 'Edit' }).click();
    const titles = await spec.locator('label.field > span').allTextContents();
    expect(titles).toEqual(SPEC_FIELD_NAMES.map((name) => SPEC_FIELDS[name].title));
    await spec.getByLabel('BMC endpoint').fill('https://me:secret@bmc');
    await spec.getByText('must not carry credentials').waitFor();
    await spec.getByLabel('BMC endpoint').fill('bmc-1');
    await spec.getByLabel('Provider').fill('unknown');
    await spec.getByRole('button', { name: 'Save 2 changes' }).click();
    await spec.getByText('unknown is not a configured provider').waitFor();
    await spec.getByLabel('Provider').fill('fake');
    await spec.getByLabel('Value of rack').fill('r2');
    await console.server.machines.updateMachine({
      machine: { machineId: 'edited-1', labels: { rack: 'r9', owner: 'x' } },
      updateMask: { paths: ['labels.rack', 'labels.owner'] },
    });
    const changed = spec.getByRole('alert');
    await changed.getByText('changed from "r1" to "r9".').waitFor();
    await changed.getByText('Saving overwrites it with your value.').waitFor();
    await changed.getByRole('button', { name: 'Accept these changes' }).click();
    await spec.getByRole('button', { name: 'Save 1 change' }).click();
    await spec.getByRole('button', { name: 'Edit' }).waitFor();
    const { labels, spec: saved } = await console.server.machines.getMachine({ machineId: 'edited-1' });
    expect(labels).toEqual({ rack: 'r9', row: 'a', owner: 'x' });
    expect(saved?.bmcEndpoint).toBe('bmc-1');
  });

  it('says a failure once with what to do, shows only the layers that it has, and its life', {
    tags: ['extended'],
  }, async () => {
    await inMaintenance('failed-1', { 'fake/fail-step': 'reboot', 'fake/step-ms': '1' });
    await console.server.machines.rebootMachine({ machineId: 'failed-1', requestId: 'r' });
    const page = await console.open({ path: '/machines/failed-1' });
    await panel(page, 'Next steps').getByRole('button', { name: 'Retry stage' }).waitFor();
    const { operations } = await console.server.operations.listOperations({
      filter: 'machine_id = failed-1 AND type = REBOOT',
    });
    const said = operations[0]?.error?.message ?? 'no error';
    expect(await page.getByText(said).count()).toBe(1);
    const layers = page.getByRole('region', { name: 'State layers' });
    expect(await layers.getByRole('heading', { level: 3 }).allTextContents()).toEqual(['Phase']);
    const life = panel(page, 'Timeline');
    await life.getByRole('list', { name: 'Phase' }).getByText('MAINTENANCE').waitFor();
    await life.getByRole('link', { name: 'REBOOT FAILED' }).waitFor();
    await screenshot(page, 'machine-failed');
    await expectAccessible(page);
  });

  it('asks before unsaved edits are lost, by a link and by the back button', {
    tags: ['extended'],
  }, async () => {
    await register('guarded-1');
    const page = await console.open({ path: '/machines' });
    await page.getByRole('link', { name: 'guarded-1' }).click();
    await tab(page, 'Configuration').click();
    const spec = panel(page, 'Spec and labels');
    await spec.getByRole('button', { name: 'Edit' }).click();
    await spec.getByLabel('BMC endpoint').fill('bmc-7');
    const ask = page.getByRole('dialog', { name: 'Discard your changes?' });
    for (const leave of [() => tab(page, 'Overview').click(), () => page.goBack()]) {
      await leave();
      await ask.getByRole('button', { name: 'Keep editing' }).click();
      await ask.waitFor({ state: 'detached' });
      expect(page.url()).toContain('/machines/guarded-1/configuration');
      expect(await spec.getByLabel('BMC endpoint').inputValue()).toBe('bmc-7');
    }
    await page.goBack();
    await ask.getByRole('button', { name: 'Discard changes' }).click();
    await page.waitForURL('**/machines/guarded-1');
    await tab(page, 'Configuration').click();
    await spec.getByRole('button', { name: 'Edit' }).click();
    expect(await spec.getByLabel('BMC endpoint').inputValue()).toBe('');
    // Nothing is edited, so nothing is asked.
    await tab(page, 'Overview').click();
    await panel(page, 'Timeline').waitFor();
    expect(await ask.count()).toBe(0);
  });

  it('shows a viewer everything, and why no action is available', { tags: ['extended'] }, async () => {
    await inMaintenance('seen-1');
    const page = await console.open({ path: '/machines/seen-1', role: 'viewer' });
    const reboot = page.getByRole('button', { name: 'Reboot', exact: true });
    await reboot.hover();
    await page.getByRole('tooltip').getByText('This needs the role operator').waitFor();
    await page.getByRole('button', { name: 'More actions' }).click();
    const more = page.getByRole('list', { name: 'More actions' }).getByRole('button');
    for (const button of await more.all()) expect(await button.getAttribute('aria-disabled')).toBe('true');
  });

  it('flags and unflags with a reason, from the menu and from the explanation', {
    tags: ['extended'],
  }, async () => {
    await register('flagged-1');
    const page = await console.open({ path: '/machines/flagged-1', role: 'admin' });
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('button', { name: /^Flag RMA or Retired/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('radio', { name: 'RMA' }).check();
    await dialog.getByRole('textbox', { name: 'Reason' }).fill('bad DIMM');
    await dialog.getByText(`ingot flag flagged-1 rma --reason 'bad DIMM'`).waitFor();
    await dialog.getByRole('button', { name: 'Flag RMA or Retired' }).click();
    await panel(page, 'Next steps').getByText('bad DIMM').first().waitFor();
    await panel(page, 'Next steps').getByRole('button', { name: 'Remove a flag' }).click();
    await dialog.getByRole('textbox', { name: 'Reason' }).fill('replaced');
    await dialog.getByRole('button', { name: 'Remove a flag' }).click();
    await page.getByText('because its phase is FACTORY_READY').waitFor();
    await tab(page, 'History').click();
    const history = panel(page, 'Events');
    await history.getByRole('cell', { name: 'replaced' }).waitFor();
    await page.getByRole('button', { name: 'phase', exact: true }).click();
    await history.getByText('No events of these kinds').waitFor();
    expect(page.url()).toContain('kinds=phase');
  });

  it('shows a discovered node, rejects its approval with the command that helps, approves it, and shows its boots', {
    tags: ['extended'],
  }, async () => {
    const response = await fetch(`${console.server.httpUrl}/api/v1/report`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ mac_address: '02:00:00:00:aa:01', vendor: 'Acme', serial_number: 'SN-4711' }),
    });
    const { data } = (await response.json()) as { data: { id: string } };
    await call(console.server, 'POST', '/workflows', { name: 'gone', image: { name: 'debian-99' } });
    const page = await console.open({ path: `/machines/${data.id}` });
    await tab(page, 'Hardware').click();
    await panel(page, 'Node').getByText('SN-4711').waitFor();
    await tab(page, 'Overview').click();
    await panel(page, 'Next steps').getByRole('button', { name: 'Approve node' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Comment' }).fill('ours');
    await dialog.getByRole('button', { name: 'Approve node' }).click();
    await dialog.getByRole('alert').getByText('ingot image add NAME FILE').waitFor();
    await dialog.getByRole('combobox', { name: 'Workflow' }).selectOption('gone');
    await dialog.getByRole('button', { name: 'Approve node' }).click();
    await dialog.getByRole('alert').getByText('ingot image add debian-99 FILE').waitFor();
    expect((await nodeOf(console.server, data.id)).workflow).toBe(null);
    await dialog.getByRole('combobox', { name: 'Workflow' }).selectOption('');
    await prepareInstall(console.server);
    await dialog.getByRole('button', { name: 'Approve node' }).click();
    await page.getByRole('region', { name: 'State layers' }).getByText('pending').waitFor();
    await tab(page, 'Hardware').click();
    await panel(page, 'Node').getByText('ours').waitFor();
    await panel(page, 'Node').getByText('No boots yet.').waitFor();
    await boot(console.server, '02:00:00:00:aa:01', '&serial=SN-4711');
    await panel(page, 'Node').getByText('script: installer').waitFor();
    await call(console.server, 'PATCH', `/nodes/${data.id}`, { workflow: 'nowhere' });
    await boot(console.server, '02:00:00:00:aa:01', '&serial=SN-4711');
    const boots = panel(page, 'Node').getByRole('region', { name: 'Boots' });
    await boots.getByText('there is no workflow nowhere').waitFor();
    await expectAccessible(page);
  });

  it('shows text from machines as text', { tags: ['extended'] }, async () => {
    const markup = '<img src=x onerror="document.title=1">';
    await register('marked-1', { note: markup });
    const page = await console.open({ path: '/machines/marked-1' });
    await tab(page, 'Configuration').click();
    await panel(page, 'Spec and labels').getByText(markup).waitFor();
    expect(await page.title()).toBe('marked-1 · Ingot');
  });

  it('offers its actions in the palette', { tags: ['extended'] }, async () => {
    await inMaintenance('found-1');
    const page = await console.open({ path: '/machines/found-1' });
    await page.getByRole('button', { name: 'Exit maintenance', exact: true }).first().waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search' }).fill('exit maint');
    await page.getByRole('option', { name: 'Exit maintenance found-1' }).waitFor();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Exit maintenance: found-1' });
    await dialog.getByRole('button', { name: 'Exit maintenance' }).click();
    await page.getByText('because its phase is READY').waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  it('shows an error for an unknown machine', { tags: ['extended'] }, async () => {
    const page = await console.open({ path: '/machines/unknown-1' });
    await page.getByRole('alert').getByText('there is no machine unknown-1').waitFor();
  });

  it('is accessible in light and dark colours, and fits the window', { tags: ['extended'] }, async () => {
    const { server } = console;
    const machineId = 'agent-1';
    await register(machineId, { rack: 'r1' });
    const { token } = await server.admin.createMachine({ machineId, pool: 'gpu' });
    const address = { machine_id: machineId, provider_name: 'fake', pool_name: 'gpu' };
    const facts = {
      hostname: 'gpu-9',
      cpu: '64000m',
      memory: '512Gi',
      gpu_count: '8',
      gpus: [{ model: 'NVIDIA H100 80GB HBM3', count: 8 }],
      private_ip: '10.0.0.9',
    };
    const send = async (path: string, body: object) => {
      const response = await fetch(`${server.httpUrl}/api/v1/machine/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify(body),
      });
      expect(response.status).toBe(200);
    };
    await send('register', { token, ...address, ...facts });
    await send('keepalive', { ...address, metrics: { cpu_utilization_pct: 42, container_count: 3 } });
    const page = await console.open({ path: `/machines/${machineId}`, role: 'admin' });
    await tab(page, 'Hardware').click();
    await page.getByRole('img', { name: 'CPU in use: CPU in use 42% now' }).waitFor();
    await page.getByText('percent, last 10 min').first().waitFor();
    await page.getByText('64 cores').waitFor();
    await page.getByText('8 × NVIDIA H100 80GB HBM3').waitFor();
    await page.locator('.uplot').first().waitFor();
    await screenshot(page, 'machine-hardware');
    await expectAccessibleInAllColours(page);
    await tab(page, 'Overview').click();
    await page.getByText('Workloads can be scheduled on it.').waitFor();
    await server.admin.flagMachine({ machineId, flag: MachineFlag_Value.RMA, reason: 'fan 2' });
    await page.getByText('No workloads are scheduled on it, because it is flagged RMA: fan 2.').waitFor();
    await server.admin.unflagMachine({ machineId, flag: MachineFlag_Value.RMA, reason: 'new fan' });
    await page.getByText('Workloads can be scheduled on it.').waitFor();
    await screenshot(page, 'machine-light');
    await expectAccessibleInAllColours(page);
    await page.getByRole('button', { name: 'More actions' }).click();
    await expectAccessibleInAllColours(page);
    await page.getByRole('button', { name: /^Decommission/ }).click();
    await page.getByRole('dialog').waitFor();
    await expectAccessibleInAllColours(page);
    await page.setViewportSize({ width: 1024, height: 700 });
    const overflow = await page.evaluate(
      '(() => { const { scrollWidth, clientWidth } = document.querySelector("#page"); return scrollWidth - clientWidth; })()',
    );
    expect(overflow, 'wider than a window of 1024 pixels').toBeLessThanOrEqual(0);
    expect(console.pageErrors).toEqual([]);
  });
});
