// @module-tag extended: test/query-plans.test.ts makes the same calls, test/bench/growth.test.ts and slopes.test.ts have the verdicts.
/** Each measuring command at its smallest, as it is built. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const execute = promisify(execFile);
const TIMEOUT = 240_000;

/** Figures are of no interest here: a verdict may be anything, and a failure is no JSON. */
async function run(script: string, ...args: string[]): Promise<Record<string, unknown>> {
  const file = fileURLToPath(new URL(`../../dist/bench/${script}`, import.meta.url));
  const { stdout } = await execute(process.execPath, [file, ...args, '--json']).catch(
    (error: { stdout: string; stderr: string }) => {
      if (!error.stdout?.startsWith('{')) throw new Error(error.stderr, { cause: error });
      return error;
    },
  );
  return JSON.parse(stdout) as Record<string, unknown>;
}

test.each(['bmcs/run.js', 'growth/run.js', 'peers/run.js', 'replicas/run.js', 'waiting.js', 'soak/run.js'])(
  '%s says what it can do, and refuses what it does not know',
  async (script) => {
    const file = fileURLToPath(new URL(`../../dist/bench/${script}`, import.meta.url));
    expect((await execute(process.execPath, [file, '--help'])).stdout).toMatch(
      /^npm run [a-z:]+ -- \[options\]/,
    );
    await expect(execute(process.execPath, [file, '--unknown'])).rejects.toMatchObject({ code: 64 });
  },
);

test('bench:growth', { timeout: TIMEOUT }, async () => {
  const sizes = ['--fleets', '400,800', '--most-events', '2000'];
  const { rows } = await run('growth/run.js', ...sizes, '--rounds', '1', '--only', 'v2.OperationService');
  expect((rows as { verdict: string }[]).map(({ verdict }) => verdict)).not.toContain('failed');
});

test('bench:peers', { timeout: TIMEOUT }, async () => {
  const { rows } = await run('peers/run.js', '--jobs', '50', '--rounds', '1');
  expect(rows).toHaveLength(3);
});

test('bench:replicas', { timeout: TIMEOUT }, async () => {
  const few = ['--operations', '50', '--keepalives', '100', '--rounds', '1'];
  const { rows } = await run('replicas/run.js', '--replicas', '1,2', ...few);
  expect(rows).toHaveLength(4);
});

test('bench:waiting', { timeout: TIMEOUT }, async () => {
  const answer = await run('waiting.js', '--operations', '400', '--started', '100', '--seconds', '1');
  expect(answer).toMatchObject({ operations: 400, verdict: 'reached' });
});

test('bench:bmcs', { timeout: TIMEOUT }, async () => {
  const answer = await run('bmcs/run.js', '--bmcs', '20', '--interval', '4', '--intervals', '1');
  expect(answer).toMatchObject({ bmcs: 20, requestsPerProbe: 1, verdict: expect.any(String) });
});

test('soak', { timeout: TIMEOUT }, async () => {
  const { operations, failures, trends } = await run('soak/run.js', '--minutes', '0.3');
  expect(operations).toBeGreaterThan(0);
  expect(failures).toBe(0);
  expect(trends).toHaveLength(7);
});
