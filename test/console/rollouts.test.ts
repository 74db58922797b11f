// @module-tag extended: test/rollouts has every verb; reimage.test.ts works in the browser.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { Rollout_State, RolloutService } from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { startTcpRelay } from '../advice/tcp-relay.ts';
import { fresh, newMachine, run } from '../api/fleet.ts';
import { until } from '../parts/until.ts';
import { CHROMIUM, Console, expectAccessibleInAllColours, screenshot } from './console.ts';

const GRID = 10_000;

describe.skipIf(CHROMIUM.isMissing)(CHROMIUM.title('rollouts, in the browser'), () => {
  let console: Console;
  beforeAll(async () => {
    console = await Console.start();
  });
  afterAll(() => console.stop());

  /** Machines that only one test is about, in service. */
  async function machinesOf(rack: string, count: number, labels: Readonly<Record<string, string>> = {}) {
    const ids: string[] = [];
    for (let n = 0; n < count; n += 1)
      ids.push(await newMachine(console.server, { phase: 'READY', labels: { rack, ...labels } }));
    return ids;
  }

  const rollouts = () => console.server.client(RolloutService, console.server.adminToken);

  const openMachines = async (rack: string, count: number): Promise<Page> => {
    const page = await console.open({
      path: `/machines?filter=${encodeURIComponent(`labels.rack=${rack}`)}`,
    });
    await page.getByText(`${count} machines`, { exact: true }).first().waitFor();
    return page;
  };

  const stateOf = async (rolloutId: string) => (await rollouts().getRollout({ rolloutId })).state;

  const idOf = (page: Page) => decodeURIComponent(new URL(page.url()).pathname.split('/').at(-1) ?? '');

  /** Starts what the drawer shows, and waits for the page of the rollout. */
  async function startAndOpen(page: Page): Promise<string> {
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Start: \d/ })
      .click();
    await page.waitForURL('**/rollouts/ro-*');
    return idOf(page);
  }

  it('a bulk action opens the preview of a rollout, starts it, and goes on without the tab', async () => {
    const ids = await machinesOf('tab', 4, { 'fake/step-ms': '300' });
    const page = await openMachines('tab', 4);
    await page.getByRole('checkbox').first().check();
    await page.getByRole('button', { name: 'Reboot', exact: true }).click();
    const dialog = page.getByRole('dialog');
    const preview = dialog.getByRole('region', { name: 'Preview' });
    await preview.getByText('4 machines in 1 wave').waitFor();
    // All that match were selected: the rollout is by filter.
    expect(await dialog.getByRole('textbox', { name: 'Filter', exact: true }).inputValue()).toBe(
      'labels.rack=tab',
    );
    await dialog.getByRole('combobox', { name: 'Waves' }).selectOption('By size');
    await dialog.getByRole('textbox', { name: 'Sizes' }).fill('1, rest');
    await preview.getByText('4 machines in 2 waves').waitFor();
    await dialog.getByRole('textbox', { name: 'At most at once' }).fill('1');
    await expectAccessibleInAllColours(page);
    await screenshot(page, 'rollout-preview');
    const rolloutId = await startAndOpen(page);
    await page.getByRole('heading', { level: 1, name: 'reboot' }).waitFor();
    await page.close();

    await until(
      () => stateOf(rolloutId),
      (state) => state === Rollout_State.SUCCEEDED,
    );
    const { spec } = await rollouts().getRollout({ rolloutId });
    expect(spec).toMatchObject({ filter: 'labels.rack=tab', machineIds: [], waves: ['1', 'rest'] });
    const again = await console.open({ path: `/rollouts/${rolloutId}` });
    await again.getByText('Done: 4 machines succeeded.').waitFor();
    await again.getByRole('listitem', { name: 'Wave 2' }).getByText('3 of 3 finished').waitFor();
    for (const id of ids) await again.getByRole('link', { name: id, exact: true }).waitFor();
    await expectAccessibleInAllColours(again);
    await again.getByRole('navigation').getByRole('link', { name: 'Rollouts' }).click();
    await again.getByRole('link', { name: 'reboot' }).first().waitFor();
    expect(console.pageErrors).toEqual([]);
  });

  it('a part of the list is a rollout by id, and machines that are not eligible are grouped by why', {
    tags: ['extended'],
  }, async () => {
    const ready = await machinesOf('part', 2);
    await newMachine(console.server, { phase: 'MAINTENANCE', labels: { rack: 'part' } });
    await newMachine(console.server, { phase: 'READY', labels: { rack: 'part' } });
    const page = await openMachines('part', 4);
    for (const row of [0, 1, 2]) await page.locator(`tr[data-place="${row}"]`).getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Exit maintenance', exact: true }).click();
    const preview = page.getByRole('region', { name: 'Preview' });
    await preview.getByText('1 machine of 3 in 1 wave').waitFor();
    await preview.getByText('WRONG_PHASE').waitFor();
    await preview.getByRole('link', { name: ready[0] ?? '', exact: true }).waitFor();
    const rolloutId = await startAndOpen(page);
    const { spec, machines } = await rollouts().getRollout({ rolloutId });
    expect(spec?.filter).toBe('');
    expect(spec?.machineIds).toHaveLength(3);
    expect(machines).toMatchObject({ total: 3, ineligible: 2 });
  });

  it('a wave waits for an approval, which is given on the page with a reason', {
    tags: ['extended'],
  }, async () => {
    await machinesOf('gate', 3);
    const page = await openMachines('gate', 3);
    await page.getByRole('checkbox').first().check();
    await page.getByRole('button', { name: 'Reboot', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('combobox', { name: 'Gate of each wave' }).selectOption('Approval by an operator');
    await dialog.getByRole('region', { name: 'Preview' }).getByRole('cell', { name: 'approval' }).waitFor();
    const rolloutId = await startAndOpen(page);
    const wave = page.getByRole('listitem', { name: 'Wave 1' });
    await wave.getByText('WAITING FOR APPROVAL').waitFor();
    await expectAccessibleInAllColours(page);
    await wave.getByRole('button', { name: 'Approve', exact: true }).click();
    await dialog.getByRole('textbox', { name: 'Reason' }).fill('looked at');
    await dialog.getByRole('button', { name: 'Approve', exact: true }).click();
    await wave.getByText(/Approved by operator:operator-\d+/).waitFor();
    await page.getByText('Done: 3 machines succeeded.').waitFor();
    const { actions } = await rollouts().getRollout({ rolloutId });
    expect(actions.find(({ action }) => action === 'approve')).toMatchObject({ reason: 'looked at' });
    await page.getByRole('heading', { name: 'History' }).waitFor();
    await page.getByText('looked at').waitFor();
  });

  it('the creator cannot be the second person, and a page that was cut off goes on where it was', {
    tags: ['extended'],
  }, async () => {
    await machinesOf('second', 2);
    const page = await openMachines('second', 2);
    await page.getByRole('checkbox').first().check();
    await page.getByRole('button', { name: 'Reboot', exact: true }).click();
    const gate = page.getByRole('dialog').getByRole('combobox', { name: 'Gate of each wave' });
    await gate.selectOption('Approval by another person');
    await page.getByRole('cell', { name: 'second-person' }).waitFor();
    const rolloutId = await startAndOpen(page);
    const wave = page.getByRole('listitem', { name: 'Wave 1' });
    const approve = wave.getByRole('button', { name: 'Approve', exact: true });
    expect(await approve.getAttribute('aria-disabled')).toBe('true');
    await wave
      .getByText('You created the rollout: another person must approve')
      .waitFor({ state: 'attached' });

    // By a way that can be cut: a browser that is put offline still reads what it has open.
    const port = Number(new URL(console.server.httpUrl).port);
    const relay = await startTcpRelay(port);
    onTestFinished(() => relay.stop());
    await page.goto(`http://${relay.endpoint}/rollouts/${rolloutId}`);
    await page.getByText('Wave 1 waits for approval by another person.').first().waitFor();
    relay.leadTo(null);
    relay.cut();
    await rollouts().approveWave({ rolloutId, requestId: fresh('approve'), reason: '', wave: 1 });
    await until(
      () => stateOf(rolloutId),
      (state) => state === Rollout_State.SUCCEEDED,
    );
    expect(await page.getByText('Done: 2 machines succeeded.').count()).toBe(0);
    relay.leadTo(port);
    await page.getByText('Done: 2 machines succeeded.').waitFor();
    await page.getByRole('table').last().getByText('succeeded').nth(1).waitFor();
  });

  it('what destroys data starts with one machine and stops there; the group of its failures is retried at once', {
    tags: ['extended'],
  }, async () => {
    const ids = await machinesOf('bad', 5, { 'fake/fail-step': 'repave' });
    const page = await openMachines('bad', 5);
    await page.getByRole('checkbox').first().check();
    await page.getByRole('button', { name: 'Reimage', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Put maintenance around it' }).click();
    await dialog.getByText('5 machines in 3 waves').waitFor();
    const start = dialog.getByRole('button', { name: 'Start: 5 machines' });
    await expect.poll(() => start.getAttribute('aria-disabled')).toBe('true');
    await dialog.getByRole('textbox', { name: /Type 5 to confirm/ }).fill('5');
    const rolloutId = await startAndOpen(page);
    await page.getByText('STOPPED', { exact: true }).waitFor();
    const failures = page.getByRole('region', { name: 'Failures' });
    const retry = failures.getByRole('button', { name: 'Retry 1 machine' });
    await retry.waitFor();
    await expectAccessibleInAllColours(page);
    await screenshot(page, 'rollout-stopped');
    const { machines } = await rollouts().getRollout({ rolloutId });
    expect(machines).toMatchObject({ failed: 1, pending: 4, running: 0 });

    for (const machineId of ids) {
      const { 'fake/fail-step': _, ...labels } = (await console.server.machines.getMachine({ machineId }))
        .labels;
      await console.server.machines.updateMachine({
        machine: { machineId, labels },
        updateMask: { paths: ['labels'] },
      });
    }
    await retry.click();
    await dialog.getByRole('button', { name: 'Retry', exact: true }).click();
    await page.getByText('Done: 5 machines succeeded.').waitFor({ timeout: 40_000 });
    const { actions } = await rollouts().getRollout({ rolloutId });
    expect(actions.map(({ action }) => action)).toContain('retry');
    expect(console.pageErrors).toEqual([]);
  });

  it('is paused, changed and aborted, each with what it asks for; the others say why they are not available', async () => {
    await machinesOf('held', 3, { 'fake/hang-step': 'reboot' });
    const { rolloutId } = await rollouts().createRollout({
      requestId: fresh('held'),
      spec: {
        name: 'held',
        filter: 'labels.rack=held',
        maxParallel: '1',
        steps: [{ step: { case: 'reboot', value: {} } }],
      },
    });
    const page = await console.open({ path: `/rollouts/${rolloutId}` });
    const dialog = page.getByRole('dialog');
    const button = (name: string) => page.getByRole('button', { name, exact: true });
    await page.getByRole('button', { name: 'running 1' }).waitFor();
    expect(await button('Resume').getAttribute('aria-disabled')).toBe('true');
    await button('Pause').click();
    await dialog.getByRole('textbox', { name: 'Reason' }).fill('a support call');
    await dialog.getByRole('button', { name: 'Pause', exact: true }).click();
    await page.getByText('Paused: a support call.').waitFor();
    await button('Change limits').click();
    await dialog.getByRole('textbox', { name: 'At most at once' }).fill('2');
    await dialog.getByRole('button', { name: 'Change limits', exact: true }).click();
    await until(
      async () => (await rollouts().getRollout({ rolloutId })).spec?.maxParallel,
      (limit) => limit === '2',
    );
    await page
      .getByRole('checkbox', { name: /^Select machine/ })
      .last()
      .check();
    await button('Skip selected').click();
    await dialog.getByRole('textbox', { name: 'Reason' }).fill('in repair');
    await dialog.getByRole('button', { name: 'Skip', exact: true }).click();
    await page.getByRole('button', { name: 'skipped 1' }).waitFor();
    await button('Abort').click();
    await dialog.getByRole('checkbox', { name: /Also cancel what is under way/ }).check();
    await dialog.getByRole('textbox', { name: 'Reason' }).fill('wrong machines');
    await dialog.getByRole('button', { name: 'Abort', exact: true }).click();
    await page.getByText('ABORTED', { exact: true }).waitFor();
    expect(await stateOf(rolloutId)).toBe(Rollout_State.ABORTED);

    const [machine] = (await rollouts().listRolloutMachines({ rolloutId })).machines;
    const operation = await console.open({ path: `/operations/${machine?.operationId}` });
    await operation.getByRole('link', { name: rolloutId }).click();
    await operation.getByRole('heading', { level: 1, name: 'held' }).waitFor();
  });

  it('is rolled back to what each machine had before, as a new rollout', { tags: ['extended'] }, async () => {
    const machineId = await newMachine(console.server, { phase: 'MAINTENANCE', labels: { rack: 'back' } });
    await run(console.server, 'REIMAGE', machineId, { imageRef: 'ubuntu-2204' });
    const { rolloutId } = await rollouts().createRollout({
      requestId: fresh('back'),
      spec: {
        name: 'newer',
        machineIds: [machineId],
        steps: [{ step: { case: 'reimage', value: { imageRef: 'ubuntu-2404' } } }],
      },
    });
    const page = await console.open({ path: `/rollouts/${rolloutId}` });
    await page.getByText('Done: 1 machine succeeded.').waitFor();
    await page.getByRole('button', { name: 'Roll back', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Reason' }).fill('it boots slowly');
    await dialog.getByRole('button', { name: 'Roll back', exact: true }).click();
    await page.waitForURL(
      (url) => url.pathname.startsWith('/rollouts/') && !url.pathname.endsWith(rolloutId),
    );
    await page.getByText('Done: 1 machine succeeded.').waitFor();
    const { operations } = await console.server.operations.listOperations({
      filter: `machine_id = ${machineId} AND type = REIMAGE`,
    });
    expect(operations.map(({ params }) => params.image_ref)).toEqual([
      'ubuntu-2204',
      'ubuntu-2404',
      'ubuntu-2204',
    ]);
    await page.getByRole('link', { name: rolloutId }).click();
    await page.getByRole('link', { name: /^ro-/ }).first().waitFor();
    await page.getByText('rolled back by').waitFor();
  });

  it(`a grid of ${GRID} machines has few elements, and answers keys and clicks at once`, {
    tags: ['extended'],
    timeout: 120_000,
  }, async () => {
    const { server } = console;
    await server.sql(
      `INSERT INTO machines (machine_id, labels, spec, phase)
       SELECT 'grid-' || lpad(n::text, 6, '0'), '{"rack": "grid"}'::jsonb,
         jsonb_build_object('provider', 'fake', 'ssh_endpoint', '', 'bmc_endpoint', '', 'target_cluster_ref', '',
           'mac_addresses', '[]'::jsonb), 'READY'
       FROM generate_series(1, $1) AS n`,
      [GRID],
    );
    await server.sql('ANALYZE machines');
    const { rolloutId } = await rollouts().createRollout({
      requestId: fresh('grid'),
      spec: {
        name: 'grid',
        filter: 'labels.rack=grid',
        waves: ['1', '10%', 'rest'],
        gate: 'approval',
        steps: [{ step: { case: 'reboot', value: {} } }],
      },
    });
    const page = await console.open({ path: `/rollouts/${rolloutId}`, width: 1440 });
    const grid = page.getByRole('group', { name: /^Grid of machines/ });
    await grid.waitFor();
    await page.getByText('10,000 machines', { exact: true }).waitFor();
    const measured = (await page.evaluate(MEASURE)) as { elements: number; slowestMs: number; drawn: number };
    globalThis.console.log(
      `${GRID} machines: ${measured.elements} elements, slowest of 60 keys and 40 scrolls ${measured.slowestMs.toFixed(0)} ms`,
    );
    expect(measured.elements).toBeLessThan(1_000);
    expect(measured.drawn).toBeGreaterThan(0);
    // A key marks a machine and reads it out; Enter opens it.
    await grid.focus();
    await page.keyboard.press('Home');
    await page.getByText(/^grid-\d{6} · wave 1 · pending/).waitFor();
    await page.getByRole('button', { name: 'pending 10,000' }).click();
    await page.getByRole('table').last().getByRole('row').nth(3).waitFor();
    await expectAccessibleInAllColours(page);
    await screenshot(page, 'rollout-grid');
    await grid.focus();
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/machines/grid-*');
    await rollouts().abortRollout({ rolloutId, requestId: fresh('abort'), reason: 'measured' });
  });

  it('the fleet counts rollouts, and the page of a machine names the one that it is part of', {
    tags: ['extended'],
  }, async () => {
    const [machineId = ''] = await machinesOf('named', 1);
    const { rolloutId } = await rollouts().createRollout({
      requestId: fresh('named'),
      spec: {
        name: 'named',
        machineIds: [machineId],
        gate: 'approval',
        steps: [{ step: { case: 'reboot', value: {} } }],
      },
    });
    const page = await console.open({ path: '/fleet' });
    await page.getByRole('region', { name: 'Rollouts' }).getByRole('link', { name: 'named' }).waitFor();
    await page.getByRole('link', { name: '1 RUNNING' }).waitFor();
    await page.goto(`${console.server.httpUrl}/machines/${machineId}`);
    await page.getByRole('link', { name: 'named' }).click();
    await page.waitForURL(`**/rollouts/${rolloutId}`);
    await page.keyboard.press('Control+k');
    await page.keyboard.type(rolloutId);
    await page.getByRole('option', { name: `Rollout ${rolloutId}` }).waitFor();
  });

  it('budgets are listed with their use; an admin creates and deletes them, and others read why not', {
    tags: ['extended'],
  }, async () => {
    await machinesOf('budget', 2);
    const page = await console.open({ role: 'admin', path: '/budgets' });
    await page.getByRole('button', { name: 'New budget' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Name' }).fill('shelf');
    await dialog.getByRole('textbox', { name: /^Filter/ }).fill('labels.rack=budget');
    await dialog.getByRole('textbox', { name: /^Group by/ }).fill('');
    await dialog.getByRole('button', { name: 'Create' }).click();
    const budget = page.getByRole('region', { name: 'shelf' });
    await budget.getByText('0 of 1').waitFor();
    await expectAccessibleInAllColours(page);
    const other = await console.open({ role: 'operator', path: '/budgets' });
    expect(await other.getByRole('button', { name: 'Delete shelf' }).getAttribute('aria-disabled')).toBe(
      'true',
    );
    await budget.getByRole('button', { name: 'Delete shelf' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No budgets yet').waitFor();
  });
});

/** Moves through the grid by keys and scrolls it, and returns the longest time until the next frame. */
const MEASURE = `(async () => {
  const grid = document.querySelector('.ro-grid');
  const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  let slowestMs = 0;
  const timed = async (act) => {
    const from = performance.now();
    act();
    await frame();
    slowestMs = Math.max(slowestMs, performance.now() - from);
  };
  const key = (name) => grid.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true }));
  for (let n = 0; n < 60; n += 1) await timed(() => key(n % 3 === 0 ? 'ArrowDown' : 'ArrowRight'));
  for (let n = 0; n <= 40; n += 1) await timed(() => { grid.scrollTop = (grid.scrollHeight * n) / 40; });
  const canvas = grid.querySelector('canvas');
  const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  let drawn = 0;
  for (let n = 3; n < pixels.length; n += 4) if (pixels[n] > 0) drawn += 1;
  return { elements: document.querySelectorAll('*').length, slowestMs, drawn };
})()`;
