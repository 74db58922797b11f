import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RolloutService } from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { fresh, newMachine, run } from '../api/fleet.ts';
import { launch, type Run } from '../cli/harness.ts';
import { cloneDatabase } from '../parts/postgres.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

function ingot(line: string, token = server.adminToken): Promise<Run> {
  return launch(server.grpcAddress, line, { env: { INGOT_TOKEN: token } }).ended;
}

describe('an id of either API', () => {
  it('is taken by every command that takes one', async () => {
    const machineId = await newMachine(server, { phase: 'READY' });
    const { operationId } = await run(server, 'REBOOT', machineId);
    const runId = operationId.replace('op-', 'run-');
    for (const id of [operationId, runId]) {
      expect((await ingot(`op show ${id} -o name`)).stdout).toBe(`${operationId}\n`);
      expect((await ingot(`run show ${id} -o name`)).stdout).toBe(`${runId}\n`);
      for (const command of ['logs', 'op logs', 'run logs', 'op watch', 'run attach'])
        expect([command, (await ingot(`${command} ${id}`)).code]).toEqual([command, 0]);
      expect((await ingot(`cancel ${id}`)).stderr).toContain(`${operationId} has already ended`);
      expect((await ingot(`run cancel ${id}`)).stderr).toContain(`${runId} has already ended`);
      expect((await ingot(`op rerun ${id} --reason test`)).stderr).toContain('ACTION_NOT_APPLICABLE');
    }
  });
});

describe('events', () => {
  it('shows what happened to a machine, newest first', async () => {
    const machineId = await newMachine(server, { phase: 'MAINTENANCE' });
    const { code, stdout, stderr } = await ingot(`events -m ${machineId}`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [header = '', ...lines] = stdout.trimEnd().split('\n');
    expect(header.split(/\s{2,}/)).toEqual([
      'TIME',
      'MACHINE_ID',
      'KIND',
      'SUBJECT',
      'CHANGE',
      'ACTOR',
      'COMMENT',
    ]);
    expect(lines.at(-1)).toMatch(new RegExp(`Z  ${machineId} +machine .* admin:admin`));
    expect(stdout).toContain('FACTORY_READY → MAINTENANCE');
  });

  it('has every form, a limit and filters', async () => {
    const machineId = await newMachine(server, { phase: 'READY' });
    const events = JSON.parse((await ingot(`events -m ${machineId} -o json --filter kind=phase`)).stdout);
    expect(events).toMatchObject([
      { kind: 'phase', machine_id: machineId, from: 'MAINTENANCE', to: 'READY', metadata: '{}' },
      { kind: 'phase', machine_id: machineId, from: 'FACTORY_READY', to: 'MAINTENANCE' },
    ]);
    const names = (await ingot(`events -m ${machineId} -o name --limit 2`)).stdout.trimEnd().split('\n');
    expect(names).toHaveLength(2);
    expect(Number(names[0])).toBeGreaterThan(Number(names[1]));
    const lines = (await ingot(`events -m ${machineId} -o jsonl --all`)).stdout.trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(5);
    expect((await ingot(`events -m ${machineId} -o wide`)).stdout).toContain('EVENT_ID');
    expect(await ingot('events -m no-such')).toEqual({ code: 0, stdout: '', stderr: 'no event matches\n' });
    expect((await ingot('events --filter nothing=1')).code).toBe(64);
    expect((await ingot('events --limit 3 --all')).code).toBe(64);
  });

  it('shows a hundred unless more are asked for', { tags: ['extended'] }, async () => {
    for (let index = 0; index < 20; index += 1) await newMachine(server, { phase: 'READY' });
    expect((await ingot('events -o name')).stdout.trimEnd().split('\n')).toHaveLength(100);
    const [row] = await server.sql<{ count: string }>('SELECT count(*) FROM events');
    expect((await ingot('events -o name --all')).stdout.trimEnd().split('\n')).toHaveLength(
      Number(row?.count),
    );
  });

  it('spells control characters out', async () => {
    const machineId = fresh('odd');
    await server.machines.registerMachine({ machine: { machineId } });
    await server.sql(`UPDATE events SET comment = E'a\\x1b[31mb\\nc' WHERE machine_id = $1`, [machineId]);
    expect((await ingot(`events -m ${machineId}`)).stdout).toContain('a\\x1b[31mb\\x0ac');
  });

  it('follows what happens, also through a restart of the server, until Ctrl-C', {
    tags: ['extended'],
  }, async () => {
    const database = await cloneDatabase();
    const dataDir = mkdtempSync(join(tmpdir(), 'ingot-follow-'));
    let own = await startTestServer({ database, dataDir });
    const address = own.grpcAddress;
    const machineId = fresh('followed');
    const { stdout, stderr, signals, ended } = launch(address, `events --follow -m ${machineId} -o jsonl`, {
      env: { INGOT_TOKEN: own.adminToken },
    });
    const printed = () =>
      stdout.text
        .trimEnd()
        .split('\n')
        .filter((line) => line !== '');
    await own.machines.registerMachine({ machine: { machineId, labels: { 'fake/step-ms': '1' } } });
    // What happens before it is connected is not followed.
    let changes = 0;
    await until(async () => {
      changes += 1;
      const machine = { machineId, labels: { 'fake/step-ms': '1', changes: String(changes) } };
      await own.machines.updateMachine({ machine, updateMask: { paths: ['labels'] } });
      return printed().length > 0;
    });
    const firstId = (): string => JSON.parse(printed()[0] ?? '').event_id as string;
    await run(own, 'ENTER_MAINTENANCE', machineId);
    const [row] = await own.sql<{ count: string }>(
      'SELECT count(*) FROM events WHERE machine_id = $1 AND event_id >= $2',
      [machineId, firstId()],
    );
    await until(
      async () => printed().length,
      (count) => count === Number(row?.count),
    );
    await own.stop();
    await until(
      async () => stderr.text,
      (text) => text.includes('lost; trying again'),
    );
    own = await startTestServer({ database, dataDir, grpcPort: Number(address.split(':')[1]) });
    await run(own, 'EXIT_MAINTENANCE', machineId);
    const logged = await own.sql<{ event_id: string }>(
      'SELECT event_id FROM events WHERE machine_id = $1 AND event_id >= $2 ORDER BY event_id',
      [machineId, firstId()],
    );
    await until(
      async () => printed().length,
      (count) => count === logged.length,
    );
    signals.emit('SIGINT');
    expect((await ended).code).toBe(0);
    const ids = printed().map((line) => JSON.parse(line).event_id as string);
    expect(ids).toEqual(logged.map(({ event_id }) => String(event_id)));
    await own.stop();
    rmSync(dataDir, { recursive: true, force: true });
    await database.drop();
  });

  it('prints one line each', async () => {
    const machineId = fresh('line');
    const { stdout, signals, ended } = launch(server.grpcAddress, `events -f -m ${machineId}`, {
      env: { INGOT_TOKEN: server.adminToken },
    });
    // What happens before it is connected is not followed.
    await until(async () => {
      await server.machines.registerMachine({ machine: { machineId, labels: { at: fresh('at') } } });
      return stdout.text !== '';
    });
    signals.emit('SIGINT');
    await ended;
    expect(stdout.text).toMatch(
      new RegExp(`^\\[\\d\\d:\\d\\d:\\d\\d\\] ${machineId}  machine  .*admin:admin`),
    );
  });
});

describe('overview', () => {
  it('shows counts, what needs attention, and what is overdue', async () => {
    const labels = { 'fake/fail-step': 'verify' };
    const spec = { targetClusterRef: 'c' };
    const machineId = await newMachine(server, { phase: 'MAINTENANCE', labels, spec });
    await run(server, 'REIMAGE', machineId);
    const slow = await newMachine(server);
    await server.sql(`UPDATE machines SET service = 'draining' WHERE machine_id = $1`, [slow]);
    await server.sql(`UPDATE machines SET service_since = now() - interval '5 hours' WHERE machine_id = $1`, [
      slow,
    ]);
    await server.sql(
      `INSERT INTO upstream_reads (provider, due_at, failure, read_at) VALUES
         ('site-a', now(), 'it lists none of its machines', now() - interval '2 hours'),
         ('site-b', now(), 'it does not answer', NULL), ('site-c', now(), '', now()),
         ('configured-no-more', now() - interval '1 hour', 'it does not answer', NULL)`,
    );
    await server.client(RolloutService, server.adminToken).createRollout({
      requestId: fresh('held'),
      spec: {
        machineIds: [await newMachine(server, { phase: 'READY' })],
        steps: [{ step: { case: 'reboot', value: {} } }],
        gate: 'approval',
      },
    });
    const { code, stdout } = await ingot('overview');
    expect(code).toBe(0);
    expect(stdout).toMatch(/\nrollouts +RUNNING 1\n/);
    expect(stdout).toMatch(
      /Unreadable upstreams:\nPROVIDER .*\nsite-a +2h ago +it lists none of its machines\nsite-b +never +it does not answer\n\n/,
    );
    expect(stdout).toMatch(/^machines +\d+\neffective_state +.*ATTENTION 1/);
    expect(stdout).toMatch(/finished in 24 h +.*FAILED 1/);
    expect(stdout).toMatch(
      new RegExp(`1 +reimage failed +NeedsIntervention .*${machineId}: .*attention=NeedsIntervention`),
    );
    expect(stdout).toMatch(/1 +service +draining +4h 0m .*service=draining AND service_since</);
    const json = JSON.parse((await ingot('overview -o json')).stdout);
    expect(json).toMatchObject({
      attention: [{ machines: 1 }],
      overdue: [{ layer: 'service', machines: 1 }],
    });
    const shown = await launch(
      server.grpcAddress,
      `list -o name --filter "${json.attention[0].filter.replaceAll('"', '')}"`,
      {
        env: { INGOT_TOKEN: server.adminToken },
      },
    ).ended;
    expect(shown.stdout).toBe(`${machineId}\n`);
  });
});
