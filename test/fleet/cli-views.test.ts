/** What the command line shows of a fleet on a real server, with one address: INGOT_SERVER. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CallError } from '../../src/cli/connection/call-error.ts';
import { reportOf } from '../../src/cli/errors/error-report.ts';
import { OPERATIONS } from '../../src/cli/operations/v2-operations.ts';
import { packageVersion } from '../../src/package-root.ts';
import { newMachine } from '../api/fleet.ts';
import { launch, type Surrounding } from '../cli/harness.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/ingot', import.meta.url));

let server: TestServer;
let lost = '';
let well = '';

beforeAll(async () => {
  server = await startTestServer();
  well = await newMachine(server, { phase: 'READY', labels: { rack: 'r2' } });
  lost = await newMachine(server, {
    phase: 'READY',
    labels: { rack: 'r10' },
    spec: { sshEndpoint: '127.0.0.1:1' },
  });
  await server.sql(`UPDATE machines SET presence = 'expired', service = 'offline' WHERE machine_id = $1`, [
    lost,
  ]);
});
afterAll(() => server?.stop());

const ingot = (line: string, around: Surrounding = {}) =>
  launch(server.grpcAddress, line, { ...around, env: { INGOT_TOKEN: server.adminToken, ...around.env } })
    .ended;

test('nodes, images and workflows need no other address than INGOT_SERVER', async () => {
  for (const line of ['node list', 'image list', 'node stats'])
    expect(await ingot(line), line).toMatchObject({ code: 0 });
  expect(server.httpUrl).not.toContain(':8080');
});

test('open and --web print where the console shows it', async () => {
  expect((await ingot('open')).stdout).toBe(`${server.httpUrl}\n`);
  expect((await ingot(`open ${lost}`)).stdout).toBe(`${server.httpUrl}/machines/${lost}\n`);
  expect((await ingot(`show ${lost} --web`)).stdout).toBe(`${server.httpUrl}/machines/${lost}\n`);
});

test('list, show, explain, overview and top say that the agent is lost', async () => {
  expect((await ingot('list')).stdout).toMatch(new RegExp(`${lost} .*IDLE .*agent lost`));
  expect((await ingot(`show ${lost}`)).stdout).toContain('IDLE · agent lost');
  expect((await ingot(`show ${well}`)).stdout).not.toMatch(/^State:/m);
  expect((await ingot(`explain ${lost}`)).stdout).toContain('State: IDLE · agent lost');
  expect((await ingot('overview')).stdout).toMatch(/1 +agent lost .*headline=agent_lost/);
  const { stdout } = await ingot('top --once');
  expect(stdout).toMatch(
    /^[\d:]{8} {2}\S+ {2}2 machines {2}IDLE 2\nfailed or blocked 0 {2}not as it should be 1 /,
  );
  expect(stdout).toMatch(new RegExp(`${lost} +IDLE · agent lost`));
});

test('a mistyped field of a filter is answered with the nearest name', async () => {
  expect((await ingot('list --filter phaze=READY')).stderr).toMatch(
    /unknown field 'phaze' at position 1, did you mean phase\? Expected one of machine_id, /,
  );
});

test('columns, order and paths are the caller’s choice', async () => {
  const { stdout } = await ingot('list --columns machine_id,phase --sort -machine_id');
  const [header, ...rows] = stdout.trimEnd().split('\n');
  expect(header).toMatch(/^MACHINE_ID +PHASE$/);
  expect(rows.map((row) => row.split(/ +/)[0])).toEqual([lost, well].sort().reverse());
  expect((await ingot('list --sort labels -o name')).stdout).toBe(`${well}\n${lost}\n`);
  expect((await ingot('list --columns nothing')).stderr).toMatch(
    /--columns: there is no column "nothing"; there are MACHINE_ID, /,
  );
  expect((await ingot('list --columns pahse')).stderr).toMatch(
    /there is no column "pahse", did you mean PHASE\? There are MACHINE_ID, /,
  );
  const custom = await ingot('list -o custom-columns=ID:.machine_id,RACK:.labels.rack --sort machine_id');
  expect(custom.stdout.split('\n')[0]).toMatch(/^ID +RACK$/);
  expect(custom.stdout).toMatch(new RegExp(`${lost} +r10\n`));
  expect((await ingot(`show ${lost} -o jsonpath={.machine_id}:{.labels.rack}`)).stdout).toBe(`${lost}:r10\n`);
  const wrong = await ingot('list -o jsonpath={machine_id}');
  expect(wrong).toMatchObject({ code: 64, stdout: '' });
  expect(wrong.stderr).toContain('is not a path such as');
});

/** As a process: the library of jq sets handlers of the process. */
async function program(line: string) {
  const argv = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
  const child = spawn(process.execPath, [PROGRAM, ...argv], {
    env: { ...process.env, INGOT_SERVER: server.grpcAddress, INGOT_TOKEN: server.adminToken },
  });
  const [code, stdout, stderr] = await Promise.all([
    new Promise<number | null>((resolve) => child.once('close', resolve)),
    text(child.stdout),
    text(child.stderr),
  ]);
  return { code, stdout, stderr };
}

test('--jq selects from the JSON of every command that prints one', { tags: ['extended'] }, async () => {
  expect((await program('list --jq "map(.machine_id) | sort | .[]"')).stdout).toBe(
    `${[lost, well].sort().join('\n')}\n`,
  );
  expect((await program(`show ${lost} --jq "[.labels.rack] | tojson"`)).stdout).toBe('["r10"]\n');
  expect((await program('list -o jsonl --jq .machine_id')).stdout.trimEnd().split('\n').sort()).toEqual(
    [lost, well].sort(),
  );
  const wrong = await program('list --jq ".[ |"');
  expect(wrong).toMatchObject({ code: 64, stdout: '' });
  expect(wrong.stderr).toMatch(/^error: --jq: syntax error/);
  expect(await program('list --jq .a')).toMatchObject({ code: 64, stdout: '' });
  expect((await program('list -o yaml --jq .')).stderr).toContain('--jq selects from JSON');
});

test('a filter is completed term by term, with the labels and values of the fleet', async () => {
  const offered = async (filter: string) => (await ingot(`suggest "${filter}"`)).stdout.trimEnd().split('\n');
  expect(await offered('phase=RE')).toContain('phase=READY');
  expect(await offered('labels.')).toContain('labels.rack');
  expect(await offered('phase=READY AND labels.rack=r1')).toContain('phase=READY AND labels.rack=r10');
  expect((await ingot('suggest "phase=READY = "')).stdout).toBe('');
});

test('a watched list is written again until Ctrl-C', async () => {
  const running = launch(server.grpcAddress, 'list -w --columns machine_id', {
    env: { INGOT_TOKEN: server.adminToken },
  });
  await until(
    async () => running.stdout.text.split('MACHINE_ID').length,
    (written) => written > 2,
  );
  running.signals.emit('SIGINT');
  expect(await running.ended).toMatchObject({ code: 0 });
});

test('the version is an option too', async () => {
  expect(await ingot('--version')).toMatchObject({ code: 0, stdout: `ingot ${packageVersion()}\n` });
});

test('who uses a server elsewhere is not advised to start one', () => {
  const away = new CallError({
    code: status.UNAVAILABLE,
    reason: 'UNAVAILABLE',
    message: 'refused',
    metadata: {},
    violations: [],
  });
  const fixes = (isLocal: boolean) =>
    reportOf(away, { program: 'ingot', commands: OPERATIONS.commands, address: 'far:1', isLocal }).fixes;
  expect(fixes(true)[0]).toBe('npm start');
  expect(fixes(false)).toEqual([
    'set INGOT_SERVER=host:port, or ingot login --server host:port (tried far:1)',
  ]);
});
