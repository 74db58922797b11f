// @module-tag extended: rollouts/api.test.ts has the calls; cli/command-table.test.ts the commands.
/** `ingot rollout`, and every command that starts work on many machines, against a real server. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fresh, newMachine } from '../api/fleet.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { launch, type Surrounding } from './harness.ts';

let server: TestServer;
let cwd: string;

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'ingot-rollouts-'));
  server = await startTestServer();
});
afterAll(async () => {
  await server?.stop();
  rmSync(cwd, { recursive: true, force: true });
});

function begin(line: string, around: Surrounding = {}) {
  return launch(server.grpcAddress, line, {
    cwd,
    requestId: fresh('request'),
    ...around,
    env: { INGOT_TOKEN: server.adminToken, ...around.env },
  });
}
const ingot = (line: string, around?: Surrounding) => begin(line, around).ended;

/** Machines with a label of their own, so that a filter selects them and no others. */
async function group(
  size: number,
  labels: Record<string, string> = {},
): Promise<{ label: string; ids: string[] }> {
  const name = fresh('group');
  const ids = await Promise.all(
    Array.from({ length: size }, () =>
      newMachine(server, { phase: 'READY', labels: { group: name, ...labels } }),
    ),
  );
  return { label: `group=${name}`, ids: ids.sort() };
}

const idOf = (stderr: string): string => /^rollout: (ro-\S+)$/m.exec(stderr)?.[1] ?? '';
const show = async (id: string) => JSON.parse((await ingot(`rollout show ${id} -o json`)).stdout);

describe('the rollout of the documentation', () => {
  const yaml = (filter: string) => `
# ingot rollout preview|start -f ubuntu.yaml      (every field is in the API by the same name)
name: ubuntu-24.04
filter: ${filter}            # or machine_ids: [...]
steps:
  - enter-maintenance: { duration: 2h, reason: new image }
  - reimage: { image_ref: ubuntu-2404 }
  - verify: { condition: Provisioned, for: 30s }
  - exit-maintenance: {}
waves: [1, "10%", rest]                            # or by: location.rack
soak: 5m
gate: automatic                                    # or approval, second-person
max_parallel: 20
limits: [{ group_by: location.rack, max_unavailable: 1 }]
stop: { after_failures: 3, failure_percent: 20, same_error: 2 }
windows: [{ days: [mon, tue, wed], from: "09:00", to: "16:00", time_zone: Europe/Berlin }]
`;

  it('is previewed from a file, and started from stdin', async () => {
    const { label } = await group(12);
    writeFileSync(join(cwd, 'ubuntu.yaml'), yaml(`labels.${label} AND phase=READY`));
    const preview = await ingot('rollout preview -f ubuntu.yaml');
    expect(preview.code).toBe(0);
    expect(preview.stdout).toMatch(
      /^ubuntu-24\.04: enter-maintenance\(.*\) → reimage\(ubuntu-2404\) → verify/,
    );
    expect(preview.stdout).toContain('12 machines in 3 waves');
    const started = await ingot('rollout start -f - --yes --no-wait -o json', {
      input: yaml(`labels.${label} AND phase=READY`),
    });
    expect(started.code).toBe(0);
    const rollout = JSON.parse(started.stdout);
    expect(rollout).toMatchObject({
      spec: { name: 'ubuntu-24.04', waves: ['1', '10%', 'rest'], max_parallel: '20' },
    });
    expect((await ingot(`rollout abort ${rollout.rollout_id} --reason test`)).code).toBe(0);
  });

  it('starts nothing on a black-out date of its file', { tags: ['extended'] }, async () => {
    const { ids } = await group(2);
    const text = (days: string) =>
      `machine_ids: [${ids}]\nsteps: [{ reboot: {} }]\nwaves: [1, rest]\nblackouts: [{ ${days}, time_zone: UTC, reason: year end }]\n`;
    writeFileSync(join(cwd, 'frozen.yaml'), text('from: "2020-01-01", to: "2099-12-31"'));
    const preview = await ingot('rollout preview -f frozen.yaml');
    expect(preview.stdout).toContain('2 machines in 2 waves, starts at 2100-01-01T00:00:00Z');
    const started = JSON.parse((await ingot('rollout start -f frozen.yaml --no-wait -o json')).stdout);
    const shown = await until(
      async () => (await ingot(`rollout show ${started.rollout_id}`)).stdout,
      (stdout) => stdout.includes('Waits for:'),
    );
    expect(shown).toContain('It waits for its next window, which opens at 2100-01-01T00:00:00.000Z.');
    expect(shown).toContain('2 machines: 2 pending');
    expect((await ingot(`rollout abort ${started.rollout_id}`)).code).toBe(0);
    writeFileSync(join(cwd, 'frozen.yaml'), text('from: "2020-01-01", to: "2020-12-31"'));
    expect(await ingot('rollout start -f frozen.yaml')).toMatchObject({ code: 0 });
  });

  it('is refused with the line of the field that the server does not accept', async () => {
    writeFileSync(join(cwd, 'wrong.yaml'), 'machine_ids: [m]\nsteps:\n  - reboot: {}\nsoak: soon\n');
    const { code, stderr } = await ingot('rollout preview -f wrong.yaml');
    expect(code).toBe(64);
    expect(stderr).toMatch(/^error: wrong\.yaml:4: .*soak/);
    writeFileSync(join(cwd, 'wrong.yaml'), 'machine_ids: [m]\nstps: []\n');
    expect(await ingot('rollout start -f wrong.yaml')).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('wrong.yaml:2: stps: unknown field; did you mean steps?'),
    });
  });
});

describe('rollout start', () => {
  it('shows the preview, asks, and follows to the end', async () => {
    const { label } = await group(3);
    const line = `rollout start -l ${label} --reboot --waves 1,rest --name night`;
    expect(await ingot(line)).toMatchObject({ code: 2, stderr: expect.stringContaining('add --yes') });
    const asked = await ingot(line, { isTerminal: true, answer: 'n\n' });
    expect(asked.stderr).toContain('Start night on 3 machines? [y/N] ');
    expect(asked.code).toBe(2);
    const { code, stdout, stderr } = await ingot(`${line} --yes`);
    expect(stderr).toContain('night: reboot\n3 machines in 2 waves');
    expect(stderr).toMatch(/^request-id: request-\d+\nrollout: ro-/m);
    expect(stdout).toContain('wave 1/2 (1) done: 1 succeeded\n');
    expect(stdout).toMatch(/✓ SUCCEEDED {2}ro-\S+ \(night\) {2}3 machines: 3 succeeded {2}/);
    expect(code).toBe(0);
  });

  it('gives the same rollout for the same request id', { tags: ['extended'] }, async () => {
    const { ids } = await group(2);
    const line = `rollout start ${ids.join(' ')} --reboot --request-id ${fresh('request')} -o name`;
    const first = await ingot(line);
    expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ro-\S+\n$/) });
    expect((await ingot(line)).stdout).toBe(first.stdout);
  });

  it('leaves the rollout running on Ctrl-C, and watch goes on with it', async () => {
    const { label } = await group(2, { 'fake/step-ms': '300' });
    const running = begin(`rollout start -l ${label} --reboot --max-parallel 1 --yes`);
    await until(() => idOf(running.stderr.text) !== '');
    running.signals.emit('SIGINT');
    const { code, stderr } = await running.ended;
    const id = idOf(stderr);
    expect(code).toBe(8);
    expect(stderr).toContain(`${id} continues on the server\n  follow: ingot rollout watch ${id}\n`);
    expect(await ingot(`rollout watch ${id}`)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('2 machines: 2 succeeded'),
    });
  });
});

describe('a rollout that stops', () => {
  it('ends the command with 1, shows the failures with their retry, and goes on after it', {
    tags: ['extended'],
  }, async () => {
    const { label, ids } = await group(4, { 'fake/fail-step': 'reboot' });
    const { code, stderr } = await ingot(
      `rollout start -l ${label} --reboot --waves 1,rest --stop-after-failures 1 --yes`,
    );
    const id = idOf(stderr);
    expect(code).toBe(1);
    expect(stderr).toContain(`${id} is stopped: `);
    expect(await show(id)).toMatchObject({ state: 'STOPPED', machines: { failed: 1, pending: 3 } });
    const { stdout } = await ingot(`rollout show ${id}`);
    const [, retry] = /retry: ingot (rollout retry \S+ --error-code \S+)/.exec(stdout) ?? [];
    expect(retry).toContain(id);
    for (const machineId of ids)
      await server.machines.updateMachine({
        machine: { machineId, labels: { 'fake/step-ms': '1' } },
        updateMask: { paths: ['labels'] },
      });
    expect((await ingot(`${retry} --reason fixed`)).code).toBe(0);
    await ingot(`rollout resume ${id}`);
    expect(await ingot(`rollout watch ${id}`)).toMatchObject({ code: 0 });
    expect((await ingot(`rollout ${id}`)).stdout).toMatch(/retry +admin:admin .* fixed\n/);
  });
});

describe('what people do to a rollout', () => {
  it('is paused, changed, skipped, resumed and aborted, each with a reason', async () => {
    const { label, ids } = await group(3, { 'fake/step-ms': '100' });
    const { stderr, stdout } = await ingot(
      `rollout start -l ${label} --reboot --max-parallel 1 --yes --no-wait`,
    );
    const id = idOf(stderr);
    expect(stdout).toMatch(new RegExp(`^Rollout: ${id} (RUNNING|SCHEDULED)\n$`));
    expect(await ingot(`rollout pause ${id} --reason lunch`)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`Rollout: ${id} PAUSED\n`),
    });
    expect((await ingot(`rollout limits ${id} --max-parallel 2 --stop-after-failures 5`)).code).toBe(0);
    expect((await ingot(`rollout skip ${id} ${ids.at(-1)} --reason "in use"`)).code).toBe(0);
    expect(await show(id)).toMatchObject({
      state: 'PAUSED',
      spec: { max_parallel: '2', stop: { after_failures: 5 } },
      machines: { skipped: 1 },
    });
    expect((await ingot(`rollout machines ${id} --filter state=SKIPPED -o name`)).stdout).toBe(
      `${ids.at(-1)}\n`,
    );
    expect((await ingot(`rollout resume ${id}`)).code).toBe(0);
    expect(await ingot(`rollout watch ${id}`)).toMatchObject({ code: 0 });
    const history = (await ingot(`rollout show ${id}`)).stdout;
    for (const act of ['create', 'pause', 'update-limits', 'skip', 'resume'])
      expect(history).toContain(` ${act} `);
    expect(await ingot(`rollout abort ${id}`)).toMatchObject({ code: 5 });
    expect((await ingot(`rollout list --filter rollout_id=${id}`)).stdout).toContain(
      `${id}  reboot  SUCCEEDED  1/1   3/3`,
    );
  });

  it('lets a wave start that waits for approval', { tags: ['extended'] }, async () => {
    const { label } = await group(2);
    const running = begin(`rollout start -l ${label} --reboot --waves 1,rest --gate approval --yes`);
    await until(() => running.stdout.text.includes('waits for approval: ingot rollout approve ro-'));
    const id = idOf(running.stderr.text);
    while ((await show(id)).state === 'RUNNING') {
      const { waves } = await show(id);
      if (waves.some(({ state }: { state: string }) => state === 'WAITING_FOR_APPROVAL'))
        await ingot(`rollout approve ${id} --reason fine`);
    }
    expect(await running.ended).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('approved by admin:admin'),
    });
  });

  it('ends an aborted one with 2, and a rejected one with 1', { tags: ['extended'] }, async () => {
    const { label } = await group(2);
    const running = begin(
      `rollout start -l ${label} --reboot --waves 1,rest --gates automatic,approval --yes`,
    );
    await until(() => running.stdout.text.includes('waits for approval'));
    const id = idOf(running.stderr.text);
    expect((await ingot(`rollout reject ${id} --reason "not today"`)).code).toBe(0);
    const rejected = await running.ended;
    expect(rejected).toMatchObject({ code: 1, stderr: expect.stringContaining('not today') });
    // Nothing has failed.
    expect(rejected.stderr).not.toContain('rollout retry');
    const watching = begin(`rollout watch ${id}`);
    await watching.ended;
    expect((await ingot(`rollout abort ${id} --cancel-running`)).code).toBe(0);
    expect(await ingot(`rollout watch ${id}`)).toMatchObject({ code: 2 });
  });

  it('rolls back with the image that each machine had', { tags: ['extended'] }, async () => {
    const { ids } = await group(1);
    const steps = (image: string) => `--enter-maintenance --reimage ${image} --exit-maintenance --yes`;
    expect((await ingot(`rollout start ${ids[0]} ${steps('old-image')}`)).code).toBe(0);
    const { stderr } = await ingot(`rollout start ${ids[0]} ${steps('new-image')}`);
    const back = await ingot(`rollout rollback ${idOf(stderr)} --reason "bad image" --yes`);
    expect(back).toMatchObject({ code: 0 });
    expect(await show(idOf(back.stderr))).toMatchObject({ state: 'SUCCEEDED', rolls_back: idOf(stderr) });
    const ops = JSON.parse((await ingot(`ops -m ${ids[0]} --filter type=REIMAGE -o json`)).stdout);
    expect(ops[0]).toMatchObject({ params: { image_ref: 'old-image' } });
  });

  it('needs the role of an operator', async () => {
    const { secret } = await server.admin.createToken({ name: fresh('viewer'), role: 'viewer' });
    const { ids } = await group(1);
    const line = `rollout start ${ids[0]} --reboot`;
    expect(await ingot(line, { env: { INGOT_TOKEN: secret } })).toMatchObject({ code: 4 });
    expect(await ingot('rollout show ro-none')).toMatchObject({ code: 1 });
  });
});

describe('a command on many machines', () => {
  it('is a rollout with a line for each machine, and refuses some without holding up the others', async () => {
    const { label, ids } = await group(3);
    const unready = await newMachine(server, { labels: { group: label.slice('group='.length) } });
    const { code, stdout, stderr } = await ingot(`reboot -l ${label} --yes --max-parallel 2 --waves 1,rest`);
    for (const id of ids) expect(stdout).toMatch(new RegExp(`^${id} +op-\\S+  SUCCEEDED  \\d`, 'm'));
    expect(stdout).toMatch(new RegExp(`^${unready} +REFUSED .* \\[WRONG_PHASE\\]$`, 'm'));
    expect(stderr).toContain('4 machines: ');
    expect(code).toBe(5);
    expect(await show(idOf(stderr))).toMatchObject({
      spec: { name: `reboot: labels.${label}`, max_parallel: '2', waves: ['1', 'rest'] },
      machines: { succeeded: 3, ineligible: 1 },
    });
  });

  it('gives JSON as one array of operations that name their rollout', async () => {
    const { ids } = await group(2);
    const { stdout, stderr } = await ingot(`reboot ${ids.join(' ')} -o json`);
    const operations = JSON.parse(stdout);
    expect(operations.map(({ machine_id }: { machine_id: string }) => machine_id).sort()).toEqual(ids);
    expect(operations[0]).toMatchObject({ type: 'REBOOT', phase: 'SUCCEEDED' });
    expect((await ingot(`ops --filter operation_id=${operations[0].operation_id} -o json`)).stdout).toContain(
      idOf(stderr),
    );
  });

  it('has a line for each machine where all of them are refused', async () => {
    const ids = [await newMachine(server), await newMachine(server)];
    const { code, stdout, stderr } = await ingot(`exit-maintenance ${ids.join(' ')}`);
    for (const id of ids) expect(stdout).toMatch(new RegExp(`^${id} +REFUSED .* \\[WRONG_PHASE\\]$`, 'm'));
    expect(stderr).toContain('2 machines: 2 refused\n');
    expect(code).toBe(5);
    expect(await ingot(`reboot no-such-1 no-such-2`)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('no-such-1  REFUSED'),
    });
  });

  it('stops after so many failures', { tags: ['extended'] }, async () => {
    const { label } = await group(3, { 'fake/fail-step': 'reboot' });
    const { code, stdout, stderr } = await ingot(
      `reboot -l ${label} --yes --max-parallel 1 --stop-after-failures 1`,
    );
    expect(code).toBe(1);
    expect(stdout.match(/ FAILED /g)).toHaveLength(1);
    expect(stderr).toContain('1 failed, 2 not started');
    expect(stderr).toContain(`retry what failed: ingot rollout retry ${idOf(stderr)}`);
  });

  it('executes plans of the v1 API, whose runs have their own ids', { tags: ['extended'] }, async () => {
    const { ids } = await group(2);
    const { code, stdout } = await ingot(`run start ${ids.join(' ')} --type REBOOT`);
    for (const id of ids) expect(stdout).toMatch(new RegExp(`^${id} +run-\\S+  SUCCEEDED`, 'm'));
    expect(code).toBe(0);
    const runs = JSON.parse((await ingot(`run start ${ids.join(' ')} --type REBOOT -o json`)).stdout);
    expect(runs).toMatchObject([
      { type: 'REBOOT', phase: 'SUCCEEDED' },
      { run_id: expect.stringMatching(/^run-/) },
    ]);
  });
});
