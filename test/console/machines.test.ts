import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ended, newMachine, start, statusOf, waitingAt } from '../api/fleet.ts';
import { CHROMIUM, Console, expectAccessible, screenshot } from './console.ts';

const FLEET = 100_000;

describe.skipIf(CHROMIUM.isMissing)(CHROMIUM.title('machines, in the browser'), () => {
  let console: Console;
  beforeAll(async () => {
    console = await Console.start();
  });
  afterAll(() => console.stop());

  it('a bulk action starts on the eligible machines of the filter, with a result for each', async () => {
    const { server } = console;
    const ready: string[] = [];
    for (let n = 0; n < 5; n += 1)
      ready.push(await newMachine(server, { phase: 'READY', labels: { rack: 'bulk' } }));
    const busy = await newMachine(server, {
      phase: 'MAINTENANCE',
      labels: { rack: 'bulk', 'fake/hang-step': 'reboot' },
    });
    await waitingAt(server, await start(server, 'REBOOT', busy), 'reboot');
    const other = await newMachine(server, { phase: 'READY', labels: { rack: 'other' } });

    const page = await console.open({ path: '/machines?filter=labels.rack%3Dbulk' });
    await page.getByText('6 machines', { exact: true }).first().waitFor();
    await page.getByRole('checkbox').first().check();
    await page.getByRole('button', { name: 'Enter maintenance' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('5 of 6 machines eligible').waitFor();
    await dialog.getByText('under way. Wait for it, or cancel it first').waitFor();
    await expectAccessible(page);
    await screenshot(page, 'bulk-plan');
    expect(statusOf(await server.machines.getMachine({ machineId: ready[0] ?? '' })).phase).toBe('READY');
    await dialog.getByRole('button', { name: 'Enter maintenance: 5 machines' }).click();
    await dialog.getByRole('link', { name: /^op-/ }).nth(4).waitFor();
    await screenshot(page, 'bulk-results');
    await expectAccessible(page);
    const { operations } = await server.operations.listOperations({
      filter: 'type = ENTER_MAINTENANCE AND started_by = "operator:*"',
    });
    expect(operations.map(({ machineId }) => machineId).toSorted()).toEqual(ready.toSorted());
    expect(operations.some(({ machineId }) => machineId === other)).toBe(false);
  });

  it('a bulk cancel affects active operations only, and a bulk reimage asks for the number of machines', async () => {
    const { server } = console;
    const operations: string[] = [];
    for (let n = 0; n < 2; n += 1) {
      const machineId = await newMachine(server, {
        phase: 'MAINTENANCE',
        labels: { rack: 'stuck', 'fake/hang-step': 'reboot' },
      });
      const operation = await start(server, 'REBOOT', machineId);
      await waitingAt(server, operation, 'reboot');
      operations.push(operation.operationId);
    }
    const idle = await newMachine(server, { phase: 'MAINTENANCE', labels: { rack: 'stuck' } });
    const page = await console.open({ path: '/machines?filter=labels.rack%3Dstuck' });
    await page.getByText('3 machines', { exact: true }).first().waitFor();
    await page.getByRole('checkbox').first().check();
    const dialog = page.getByRole('dialog');

    await page.getByRole('button', { name: 'Reimage', exact: true }).click();
    await dialog.getByText('1 of 3 machines eligible').waitFor();
    const reimage = dialog.getByRole('button', { name: 'Reimage: 1 machine' });
    expect(await reimage.getAttribute('aria-disabled')).toBe('true');
    await dialog.getByRole('textbox', { name: /Type 1 to confirm/ }).fill('1');
    await reimage.click();
    await dialog.getByRole('link', { name: /^op-/ }).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    const { operations: reimages } = await server.operations.listOperations({
      filter: `machine_id = ${idle} AND type = REIMAGE`,
    });
    expect(reimages).toHaveLength(1);
    for (const operation of reimages) await ended(server, operation);

    await page.getByRole('button', { name: 'Cancel operation' }).click();
    await dialog.getByRole('button', { name: /^Cancel operation: \d/ }).click();
    await dialog.getByText(/2 of 2 machines completed/).waitFor();
    for (const operationId of operations)
      expect((await ended(server, { operationId })).status).toBe('cancelled');
  });

  it('text from machines and logs is never rendered as markup', async () => {
    const { server } = console;
    const markup = '<img src=x onerror="window.wasRun=1"><script>window.wasRun=1</script>';
    const machineId = await newMachine(server, {
      phase: 'MAINTENANCE',
      labels: { note: markup, 'fake/hang-step': 'reboot' },
    });
    const operation = await start(server, 'REBOOT', machineId);
    await waitingAt(server, operation, 'reboot');
    await server.sql(
      `INSERT INTO operation_logs (operation_id, epoch, line, at, stream, step, text)
       SELECT $1, 0, 1000, now(), 'stdout', 'reboot', $2`,
      [operation.operationId, `\u001b[31m${markup}`],
    );
    const page = await console.open({ path: `/machines/${machineId}` });
    await page.getByText(markup).first().waitFor();
    await page.goto(`${server.httpUrl}/operations/${operation.operationId}`);
    await page.getByRole('log').getByText(markup).waitFor();
    await page.goto(`${server.httpUrl}/machines?filter=${encodeURIComponent(`labels.note = "*img*"`)}`);
    await page.getByRole('link', { name: machineId }).waitFor();
    expect(await page.evaluate('window.wasRun')).toBeUndefined();
    expect(await page.locator('img[src=x]').count()).toBe(0);
  });

  it('100,000 machines are scrolled and filtered in bounded memory', {
    timeout: 120_000,
  }, async () => {
    const { server } = console;
    await server.sql(
      `INSERT INTO machines (machine_id, labels, spec, phase)
       SELECT 'bulk-' || lpad(n::text, 6, '0'),
         jsonb_build_object('rack', 'r' || n % 400, 'env', CASE n % 3 WHEN 0 THEN 'lab' ELSE 'prod' END),
         jsonb_build_object('provider', 'fake', 'ssh_endpoint', '', 'bmc_endpoint', '', 'target_cluster_ref', '',
           'mac_addresses', '[]'::jsonb),
         (ARRAY['FACTORY_READY', 'READY', 'MAINTENANCE'])[1 + n % 3]
       FROM generate_series(1, $1) AS n`,
      [FLEET],
    );
    await server.sql('ANALYZE machines');
    const page = await console.open({ path: '/machines?filter=machine_id%3D%22bulk-*%22' });
    await page.getByText('100,000 machines', { exact: true }).first().waitFor({ timeout: 60_000 });
    const session = await page.context().newCDPSession(page);
    const heap = async () => {
      await session.send('HeapProfiler.collectGarbage');
      const { usedSize } = await session.send('Runtime.getHeapUsage');
      return usedSize / 1e6;
    };
    const before = await heap();
    const scrolled = (await page.evaluate(SCROLL)) as { frames: number; rows: number; last: string };
    await page.getByText('bulk-100000').waitFor();
    const after = await heap();
    await screenshot(page, 'machines-100000');
    // The whole list is selected, not only the rendered rows.
    await page.getByRole('checkbox').first().check();
    await page.getByRole('button', { name: 'Select all 100,000 matching' }).click();
    await page.getByText('100,000 selected').waitFor();
    const box = page.getByRole('combobox', { name: 'Filter' });
    await box.fill('labels.rack = "r7" AND machine_id = "bulk-*"');
    await box.press('Enter');
    await page.getByText('250 machines', { exact: true }).first().waitFor();
    globalThis.console.log(
      `100,000 machines: ${scrolled.frames} frames while scrolling, at most ${scrolled.rows} rows in the page, heap ${before.toFixed(0)} MB before and ${after.toFixed(0)} MB after`,
    );
    expect(scrolled.rows).toBeLessThan(120);
    expect(after - before).toBeLessThan(60);
  });
});

/** From the top to the bottom in steps, one a frame. */
const SCROLL = `(async () => {
  const area = [...document.querySelectorAll('#page *')].find((e) => e.scrollHeight > 100_000 && getComputedStyle(e).overflowY !== 'visible');
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  let frames = 0, rows = 0;
  for (let n = 0; n <= 200; n += 1) {
    area.scrollTop = (area.scrollHeight * n) / 200;
    await frame();
    frames += 1;
    rows = Math.max(rows, area.querySelectorAll('[role=row], tr').length);
  }
  area.scrollTop = area.scrollHeight;
  await frame();
  return { frames, rows };
})()`;
