// @module-tag extended: the same calls are in test/api and test/cli; reimage.test.ts and machine-page.test.ts work in the browser.
/** What the command line can do, done in the console: the first machines, pools, plans, images, workflows, sessions. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Operation_Phase } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { fresh, newMachine } from '../api/fleet.ts';
import { call, createNode } from '../nodes/rest.ts';
import { CHROMIUM, Console, expectAccessible, screenshot } from './console.ts';

describe.skipIf(CHROMIUM.isMissing)(CHROMIUM.title('administration'), () => {
  let console: Console;
  beforeAll(async () => {
    console = await Console.start();
  });
  afterAll(() => console.stop());

  const panel = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

  it('an empty fleet shows the ways to its first machines, and simulated ones are there with one click', async () => {
    const page = await console.open({ path: '/fleet' });
    const ways = page.getByRole('list', { name: 'Ways to connect machines' });
    await ways.getByRole('heading', { name: 'Connect a MAAS' }).waitFor();
    await screenshot(page, 'fleet-empty');
    await expectAccessible(page);
    await ways.getByRole('button', { name: 'Add 12 simulated machines' }).click();
    await page.waitForURL('**/machines');
    await page.getByText('12 machines', { exact: true }).waitFor();
    const { machines } = await console.server.machines.listMachines({ filter: 'location.rack = r1' });
    expect(machines.map(({ machineId }) => machineId)).toEqual(
      [1, 2, 3, 4].map((place) => `sim-r1-u0${place}`),
    );
  });

  it('a machine is registered with its fields, and one that exists is not replaced', async () => {
    const page = await console.open({ path: '/machines' });
    await page.getByRole('button', { name: 'Register' }).click();
    const dialog = page.getByRole('dialog', { name: 'Register a machine' });
    await dialog.getByLabel('Machine id (optional)').fill('sim-r1-u01');
    await dialog.getByLabel('BMC endpoint').fill('bmc-7');
    await dialog.getByText('ingot register sim-r1-u01 --bmc-endpoint bmc-7').waitFor();
    await dialog.getByRole('button', { name: 'Register', exact: true }).click();
    await dialog.getByText('there is a machine sim-r1-u01 already').waitFor();
    await dialog.getByLabel('Machine id (optional)').fill('new-1');
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Register', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'new-1' }).waitFor();
    const { spec } = await console.server.machines.getMachine({ machineId: 'new-1' });
    expect(spec?.bmcEndpoint).toBe('bmc-7');
  });

  it('a list is imported: wrong lines are named first, and machines that exist stay as they are', async () => {
    const page = await console.open({ path: '/machines' });
    await page.getByRole('button', { name: 'Register' }).click();
    await page.getByRole('button', { name: 'Import a list instead' }).click();
    const dialog = page.getByRole('dialog', { name: 'Import machines' });
    const rows = (rack: string) =>
      `machine_id,provider,location.rack,labels.env\nlisted-1,fake,${rack},prod\nlisted-2,fake,r9,prod\nnew-1,fake,r9,prod`;
    await dialog.getByLabel(/^Machines/).fill(rows('r'.repeat(200)));
    await dialog.getByText(/^Line 2: location\.rack/).waitFor();
    await dialog.getByLabel(/^Machines/).fill(rows('r9'));
    await screenshot(page, 'import');
    await dialog.getByRole('button', { name: 'Register 3 machines' }).click();
    await page.getByText('Registered 2 machines; 1 existed and were not changed').waitFor();
    const { machines } = await console.server.machines.listMachines({ filter: 'location.rack = r9' });
    expect(machines.map(({ machineId }) => machineId)).toEqual(['listed-1', 'listed-2']);
  });

  it('a pool is made, and an invalid plan is refused before it is sent', async () => {
    const page = await console.open({ role: 'admin', path: '/pools' });
    await page.getByRole('button', { name: 'New pool' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill('gpu');
    await page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('row', { name: /^gpu/ }).waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'Plans' }).click();
    await page.getByRole('button', { name: 'New plan', exact: true }).click();
    const editor = page.getByRole('dialog').getByLabel('Plan, as JSON');
    await editor.fill('{"plan_id": 7}');
    await page.getByRole('dialog').getByText('This is no plan').first().waitFor();
  });

  it('a plan is stored, and run on a machine to its success', async () => {
    const { server } = console;
    const machineId = await newMachine(server, { phase: 'READY' });
    const page = await console.open({ role: 'admin', path: '/plans' });
    await page.getByRole('button', { name: 'New plan', exact: true }).click();
    const planId = fresh('plan-reboot');
    const steps = [{ name: 'reboot', timeout_seconds: 60, reboot: {} }];
    const plan = { plan_id: planId, display_name: 'Reboot it', steps };
    await page.getByRole('dialog').getByLabel('Plan, as JSON').fill(JSON.stringify(plan));
    await page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('button', { name: `Run ${planId}` }).click();
    const dialog = page.getByRole('dialog', { name: 'Run Reboot it' });
    await dialog.getByLabel('Machine', { exact: true }).fill(machineId);
    await dialog.getByText(`ingot run start ${machineId} --type REBOOT --plan ${planId}`).waitFor();
    await dialog.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: `Reboot ${machineId}` }).waitFor();
    await page.getByText('SUCCEEDED').first().waitFor();
    const { operations } = await server.operations.listOperations({ filter: `plan_id = ${planId}` });
    expect(operations.map(({ machineId: on, phase }) => [on, phase])).toEqual([
      [machineId, Operation_Phase.SUCCEEDED],
    ]);
  });

  it('what is recorded of a node is edited in a form', async () => {
    const { id } = await createNode(console.server, { hostname: 'wrong-name', vendor: 'Acme' });
    const page = await console.open({ path: `/nodes?node=${id}` });
    await page.getByRole('region', { name: 'wrong-name' }).getByRole('button', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog', { name: 'Edit wrong-name' });
    await dialog.getByLabel('Hostname').fill('web-r11-u14');
    await dialog.getByLabel('Vendor').fill('');
    await dialog.getByLabel('Architecture').selectOption('arm64');
    await dialog.getByLabel(/^Tags/).fill('rack-7, spare');
    await dialog
      .getByText(`ingot node edit ${id} --hostname web-r11-u14 --clear vendor --arch arm64`)
      .waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('region', { name: 'web-r11-u14' }).waitFor();
    expect((await call(console.server, 'GET', `/nodes/${id}`)).body.data).toMatchObject({
      ...{ hostname: 'web-r11-u14', vendor: null, arch: 'arm64', tags: ['rack-7', 'spare'] },
    });
  });

  it('providers without machines are listed, with what they can do', async () => {
    const page = await console.open({ path: '/providers' });
    await page.getByRole('row', { name: /^fake fake, default .* power/ }).waitFor();
    await page.getByRole('row', { name: /^generic generic/ }).waitFor();
  });

  it('an identity is revoked before it comes, and restored', async () => {
    const page = await console.open({ role: 'admin', path: '/access' });
    const identities = panel(page, 'Identities');
    await identities.getByText('No one came without a token yet').waitFor();
    await identities.getByRole('button', { name: 'Revoke an identity' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revoke an identity' });
    await dialog.getByLabel('Identity', { exact: true }).fill('corp:leaver');
    await dialog.getByLabel('When').selectOption('In 7 days');
    await dialog.getByLabel('Reason', { exact: true }).fill('last day on Friday');
    await dialog.getByText('ingot identity revoke corp:leaver --at 7d').waitFor();
    await dialog.getByRole('button', { name: 'Revoke', exact: true }).click();
    await identities.getByText(/ends in 6 d/).waitFor();
    await expectAccessible(page);
    await identities.getByRole('button', { name: 'Restore corp:leaver' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Restore', exact: true }).click();
    await identities.getByText('by configuration').waitFor();
    const { identities: known } = await console.server.admin.listIdentities({});
    expect(known.map(({ identity, endsAt }) => [identity, endsAt])).toEqual([['corp:leaver', undefined]]);
  });

  it('an image is uploaded with its digest, and removed; a workflow is stored, and removed', async () => {
    const page = await console.open({ role: 'admin', path: '/images' });
    await page.getByRole('button', { name: 'Add image' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Add image' });
    await dialog.getByRole('textbox', { name: 'Name' }).fill('tiny');
    await dialog.getByLabel(/^Disk image/).setInputFiles({
      name: 'tiny.raw',
      mimeType: 'application/octet-stream',
      buffer: Buffer.alloc(4096, 7),
    });
    await dialog.getByRole('button', { name: 'Upload', exact: true }).click();
    await page.getByRole('row', { name: /^tiny/ }).waitFor();
    await screenshot(page, 'images');
    await page.getByRole('navigation').getByRole('link', { name: 'Workflows' }).click();
    await page.getByRole('button', { name: 'New workflow' }).click();
    await page.getByLabel(/^Workflow, as JSON/).fill('{"name": "tiny-install", "image": {"name": "tiny"}}');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('row', { name: /^tiny-install/ }).waitFor();
    await page.getByRole('button', { name: 'Remove tiny-install', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByRole('row', { name: /^tiny-install/ }).waitFor({ state: 'detached' });
    await page.getByRole('navigation').getByRole('link', { name: 'Images' }).click();
    await page.getByRole('button', { name: 'Remove tiny', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText('No images yet').waitFor();
    expect((await call(console.server, 'GET', '/images')).body.data).toEqual([]);
  });

  it('a session is ended: its owner is signed out at once', async () => {
    const name = fresh('carla');
    const { secret } = await console.server.admin.createToken({
      ...{ name, role: 'viewer', scope: 'location.rack = r9' },
    });
    const hers = await console.newPage();
    await console.signIn(hers, secret);
    await hers.goto(`${console.server.httpUrl}/fleet`);
    await hers.locator('[data-live=live]').waitFor();
    const page = await console.open({ role: 'admin', path: '/access' });
    await panel(page, 'Scopes')
      .getByRole('row', { name: /location\.rack=r9|location\.rack = r9/ })
      .getByText('2')
      .waitFor();
    await screenshot(page, 'access');
    await panel(page, 'Sessions')
      .getByRole('button', { name: `Sign out ${name}` })
      .click();
    await page.getByRole('dialog').getByLabel('Reason (optional)').fill('left');
    await page.getByRole('dialog').getByRole('button', { name: 'Sign out', exact: true }).click();
    await panel(page, 'Sessions').getByText(name, { exact: true }).waitFor({ state: 'detached' });
    await hers.getByText('Your session has ended').waitFor();
  });

  it('no page wrote an error to the browser', () => expect(console.pageErrors).toEqual([]));
});
