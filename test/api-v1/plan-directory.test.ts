// @module-tag extended: plans.test.ts has plans and their errors.
/** `ingot serve` with a directory of plans: all of it is loaded, or the server does not start. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../parts/postgres.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/ingot', import.meta.url));

let database: TestDatabase;
let sql: pg.Client;
let folder: string;
let plans: string;
let child: ChildProcess | null = null;

beforeAll(async () => {
  database = await cloneDatabase();
  sql = new pg.Client({ connectionString: database.url });
  await sql.connect();
  folder = mkdtempSync(join(tmpdir(), 'ingot-test-serve-'));
  plans = join(folder, 'plans');
  mkdirSync(plans);
  writeFileSync(join(folder, 'ingot.yaml'), 'step_defaults: { timeout_seconds: 77, max_retries: 5 }\n');
});
afterAll(async () => {
  child?.kill('SIGKILL');
  await sql?.end();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

function writePlan(planId: string, ...steps: string[]): string {
  const file = join(plans, `${planId}.yaml`);
  writeFileSync(file, [`plan_id: ${planId}`, 'steps:', ...steps, ''].join('\n'));
  return file;
}

/** Runs until it has ended, or until it says that it is running. */
async function serve(): Promise<{ running: boolean; code: number | null; stdout: string; stderr: string }> {
  const args = [
    ...['serve', '--plans-dir', plans, '--config', join(folder, 'ingot.yaml')],
    ...['--http-addr', '127.0.0.1:0', '--grpc-addr', '127.0.0.1:0', '--data-dir', folder],
  ];
  const env = { PATH: process.env.PATH, DATABASE_URL: database.url, INGOT_LOG_LEVEL: 'warn' };
  const server = spawn(process.execPath, [PROGRAM, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  child = server;
  let stdout = '';
  let stderr = '';
  server.stderr.on('data', (text) => {
    stderr += text;
  });
  const running = new Promise<boolean>((resolve) => {
    server.stdout.on('data', (text) => {
      stdout += text;
      if (stdout.includes('Ctrl-C')) resolve(true);
    });
    server.once('close', () => resolve(false));
  });
  return { running: await running, code: server.exitCode, stdout, stderr };
}

async function stop(): Promise<void> {
  const gone = once(child as ChildProcess, 'close');
  child?.kill('SIGTERM');
  await gone;
}

async function storedPlans(): Promise<string[]> {
  const { rows } = await sql.query<{ plan_id: string }>('SELECT plan_id FROM plans ORDER BY plan_id');
  return rows.map(({ plan_id }) => plan_id);
}

const REBOOT = ['  - name: go', '    reboot: {}'];

test('a wrong file stops the start with file, line and reason, and none of the others is loaded', async () => {
  writePlan('a-good', ...REBOOT);
  const file = writePlan('b-plan', ...REBOOT, '  - name: go', '    reboot: {}');
  writePlan('c-good', ...REBOOT);
  const { running, code, stdout, stderr } = await serve();
  expect([running, code, stdout]).toEqual([false, 64, '']);
  expect(stderr).toBe(
    `ingot: INGOT_PLANS_DIR: ${file}: line 5: steps[1].name: go is the name of steps[0] too\n`,
  );
  expect(await storedPlans()).toEqual([]);
});

test('good files are plans of the API, with the server’s own defaults', async () => {
  writePlan('b-plan', ...REBOOT);
  const { running, stdout, stderr } = await serve();
  expect([running, stderr]).toEqual([true, '']);
  expect(await storedPlans()).toEqual(['a-good', 'b-plan', 'c-good']);
  const url = /http:\/\/\S+/.exec(stdout)?.[0];
  const token = readFileSync(/token +(\S+)/.exec(stdout)?.[1] ?? '', 'utf8').trim();
  const answer = await fetch(`${url}/baremetal.v1.PlanService/GetPlan`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ planId: 'b-plan' }),
  });
  expect(await answer.json()).toEqual({
    planId: 'b-plan',
    displayName: 'b-plan',
    steps: [{ name: 'go', timeoutSeconds: 77, maxRetries: 5, reboot: { mode: 'bmc' } }],
    defaultFor: '',
  });
  await stop();
});

test('a file that has changed after a run referenced its plan stops the start, and changes nothing', {
  tags: ['extended'],
}, async () => {
  await sql.query(
    `INSERT INTO machines (machine_id, labels, spec, phase) VALUES ('m-1', '{}', '{"provider": "fake"}', 'READY')`,
  );
  await sql.query(
    `INSERT INTO operations (operation_id, machine_id, request_id, request_fingerprint, type, status, plan_id, contract,
       params, steps, started_by)
     VALUES ('op-1', 'm-1', 'r', '', 'REBOOT', 'completed', 'b-plan', 'run', '{}', '[]', 'ann')`,
  );
  writePlan('0-new', ...REBOOT);
  const file = writePlan('b-plan', '  - name: changed', '    reboot: {}');
  const { running, code, stderr } = await serve();
  expect([running, code]).toEqual([false, 64]);
  expect(stderr).toBe(
    `ingot: INGOT_PLANS_DIR: ${file}: line 1: plan b-plan was referenced by run-1 and can't change any more; use a new plan_id\n`,
  );
  expect(await storedPlans()).toEqual(['a-good', 'b-plan', 'c-good']);
});
