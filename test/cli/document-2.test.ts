/** The transcripts of docs/operations-api.md, typed into a real server. Ids and times are those of the run. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fresh, newMachine } from '../api/fleet.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { launch } from './harness.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

const start = (line: string) =>
  launch(server.grpcAddress, line, {
    program: 'bmdemo-cli',
    requestId: fresh('request'),
    env: { INGOT_TOKEN: server.adminToken },
  });
const run = (line: string) => start(line).ended;
const withoutIds = (text: string): string => text.replace(/op-[0-9a-z]{26}/g, 'op-1');

/** The row of a machine by the names of its columns. */
async function listed(machineId: string): Promise<Record<string, string>> {
  const [header = '', row = ''] = (await run(`list --filter machine_id=${machineId}`)).stdout.split('\n');
  const starts = [...header.matchAll(/\S+/g)].map(({ 0: name, index }) => [name, index] as const);
  return Object.fromEntries(
    starts.map(([name, from], i) => [name, row.slice(from, starts[i + 1]?.[1]).trim()]),
  );
}

describe('the command line', () => {
  it.each([
    ['import <N>', 'Register N machines'],
    ['list', 'Show machines with phase, effective state, conditions'],
    ['reboot', 'Reboot a machine'],
    ['reimage', 'Reimage (requires MAINTENANCE)'],
    ['enter-maintenance', 'Enter maintenance mode'],
    ['exit-maintenance', 'Exit maintenance mode'],
    ['ops', 'List all operations'],
    ['watch [machine-id]', 'Stream operation events'],
    ['logs <operation-id>', 'Stream operation logs'],
    ['cancel <operation-id>', 'Cancel active operation'],
  ])('has %s: %s', async (command, description) => {
    const help = (await run('--help')).stdout;
    expect(help).toContain('Usage: bmdemo-cli <command> [args]');
    expect(help).toContain(`\n  ${command}`);
    expect(help.replace(/\s+/g, ' ')).toContain(description);
  });
});

describe('example 1: reimage a machine', () => {
  it('is three commands', async () => {
    const machineId = await newMachine(server, {});
    const entered = await run(`enter-maintenance ${machineId}`);
    expect(withoutIds(entered.stdout)).toBe('Operation: op-1 SUCCEEDED\n');
    const reimaged = await run(`reimage ${machineId} --image ubuntu-2204`);
    expect(withoutIds(reimaged.stdout)).toContain('Operation: op-1\n');
    expect(reimaged.stdout).toContain('✓ SUCCEEDED\n');
    const left = await run(`exit-maintenance ${machineId}`);
    expect(withoutIds(left.stdout)).toBe('Operation: op-1 SUCCEEDED\n');
    expect(await listed(machineId)).toMatchObject({ PHASE: 'READY', EFFECTIVE: 'IDLE', PROVISIONED: '✓' });
    expect([entered, reimaged, left].map(({ code }) => code)).toEqual([0, 0, 0]);
  });
});

describe('example 2: handle a failed operation', () => {
  it('is seen in the list, and retried with another request id', async () => {
    const machineId = await newMachine(server, {
      phase: 'MAINTENANCE',
      labels: { 'fake/fail-step': 'reboot' },
    });
    const failed = await run(`reimage ${machineId}`);
    expect(failed.stdout).toMatch(/✗ FAILED\n.*Error: \S/s);
    expect(failed.code).toBe(1);
    expect(await listed(machineId)).toMatchObject({
      PHASE: 'MAINTENANCE',
      EFFECTIVE: '⚠ATTENTION',
      CONDITIONS: expect.stringContaining('NeedsIntervention=✓'),
    });
    await run(`update ${machineId} --unlabel fake/fail-step`);
    const retried = await run(`reimage ${machineId} --request-id=retry-001`);
    expect(retried.stdout).toContain('✓ SUCCEEDED\n');
    expect(await listed(machineId)).toMatchObject({
      PHASE: 'MAINTENANCE',
      EFFECTIVE: 'MAINT',
      PROVISIONED: '✓',
    });
  });
});

describe('the idempotent retry', () => {
  it('is the same operation, without new work', async () => {
    const machineId = await newMachine(server, { phase: 'MAINTENANCE' });
    const line = `reimage ${machineId} --request-id=deploy-v2.1`;
    const first = await run(`${line} --quiet`);
    expect(withoutIds(first.stdout)).toBe('Operation: op-1 (PENDING → RUNNING → SUCCEEDED)\n');
    expect(await run(line)).toEqual({
      code: 0,
      stdout: first.stdout.replace('PENDING → RUNNING → ', ''),
      stderr: '',
    });
  });
});

describe('example 3: watch operations across the fleet', () => {
  it('prints a line for each change', async () => {
    const machineId = await newMachine(server, {});
    const watching = start('watch');
    await until(async () => {
      // The stream is open once it shows something.
      await run(`enter-maintenance ${machineId}`);
      return watching.stdout.text.includes(machineId);
    });
    await until(() => watching.stdout.text.includes('SUCCEEDED'));
    watching.signals.emit('SIGINT');
    const { code, stdout } = await watching.ended;
    expect(code).toBe(0);
    const lines = stdout.split('\n').filter((line) => line.includes(machineId));
    for (const line of lines)
      expect(withoutIds(line)).toMatch(
        /^\[\d\d:\d\d:\d\d\] \S+ +op-1 +ENTER_MAINTENANCE +(PENDING|RUNNING|SUCCEEDED)$/,
      );
    expect(lines.at(-1)).toContain('SUCCEEDED');
  });
});
