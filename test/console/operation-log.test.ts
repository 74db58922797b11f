// @module-tag extended: api/logs.test.ts has the log; reimage.test.ts shows one in the browser.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newMachine, start, waitingAt } from '../api/fleet.ts';
import { CHROMIUM, Console, expectAccessible, screenshot } from './console.ts';

const LINES = 5_000;

describe.skipIf(CHROMIUM.isMissing)(CHROMIUM.title('the log of an operation, in the browser'), () => {
  let console: Console;
  let operationId: string;
  beforeAll(async () => {
    console = await Console.start();
    const { server } = console;
    const machineId = await newMachine(server, {
      phase: 'MAINTENANCE',
      labels: { 'fake/hang-step': 'reboot' },
    });
    const operation = await start(server, 'REBOOT', machineId);
    operationId = operation.operationId;
    await waitingAt(server, operation, 'reboot');
    // Before the lines that the operation has written itself.
    await server.sql(
      `INSERT INTO operation_logs (operation_id, epoch, line, at, stream, step, text)
       SELECT $1, 0, n, now(), CASE n % 100 WHEN 0 THEN 'stderr' ELSE 'stdout' END, 'reboot',
         'line ' || n || CASE n % 1000 WHEN 0 THEN ' needle' ELSE '' END
       FROM generate_series(1, $2) AS n`,
      [operationId, LINES],
    );
  });
  afterAll(() => console.stop());

  it('follows the end, renders visible lines only, and pauses when the user scrolls up', async () => {
    const page = await console.open({ path: `/operations/${operationId}` });
    const log = page.getByRole('log');
    await log.getByText(`line ${LINES}`).waitFor();
    expect(await log.locator('.log-line').count()).toBeLessThan(120);
    await log.locator('.log-line.stderr').first().waitFor();
    await log.hover();
    await page.mouse.wheel(0, -4_000);
    await page.getByRole('button', { name: 'Follow', exact: true }).click();
    await log.getByText(`line ${LINES}`).waitFor();
    await page.getByRole('button', { name: 'Following' }).waitFor();
    await expectAccessible(page);
  });

  it('is found by the v1 run id too', { tags: ['extended'] }, async () => {
    const page = await console.open({ path: `/operations/${operationId.replace('op-', 'run-')}` });
    await page.getByRole('button', { name: `Copy ${operationId}` }).waitFor();
    await page.getByRole('log').getByText(`line ${LINES}`).waitFor();
  });

  it('is searched, with a count of matches and keys to step through them', {
    tags: ['extended'],
  }, async () => {
    const page = await console.open({ path: `/operations/${operationId}` });
    const log = page.getByRole('log');
    await log.getByText(`line ${LINES}`).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('needle');
    await page.getByText('5 lines', { exact: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('5 of 5 lines').waitFor();
    await page.keyboard.press('Shift+Enter');
    await page.getByText('4 of 5 lines').waitFor();
    await log.getByText('line 4000 needle').waitFor();
    expect(await log.locator('mark').first().textContent()).toBe('needle');
    expect(new URL(page.url()).searchParams.get('q')).toBe('needle');
    await screenshot(page, 'operation-log-search');
  });

  it('is downloaded completely', { tags: ['extended'] }, async () => {
    const page = await console.open({ path: `/operations/${operationId}` });
    await page.getByRole('log').getByText(`line ${LINES}`).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).first().click(),
    ]);
    const lines = readFileSync(await download.path(), 'utf8')
      .trimEnd()
      .split('\n');
    expect(lines.filter((line) => / line \d+/.test(line))).toHaveLength(LINES);
    expect(lines[0]).toMatch(/line 1$/);
  });
});
