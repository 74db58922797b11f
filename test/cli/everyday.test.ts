/** What people do every day, on a real server of which only the address and a token are known. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fresh, newMachine } from '../api/fleet.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { launch, type Surrounding } from './harness.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

const run = (line: string, around: Surrounding = {}) =>
  launch(server.grpcAddress, line, { ...around, env: { INGOT_TOKEN: server.adminToken } }).ended;

describe('the address of the server', () => {
  it.each([
    ...[
      'list',
      'ops',
      'events',
      'overview',
      'top --once',
      'whoami',
      'open',
      'node list',
      'node stats',
      'node stalled',
    ],
    ...[
      'node boots',
      'image list',
      'workflow list',
      'pool list',
      'budget list',
      'token list',
      'audit key',
      'plan list',
    ],
    ...[
      'run list',
      'rollout list',
      'maintenance list',
      'hardware changes',
      'hardware profile list',
      'provider list',
      'session list',
      'view list',
      'event list',
    ],
  ])('is enough for %s', async (line) => {
    expect(await run(line)).toMatchObject({ code: 0, stderr: expect.not.stringContaining('error') });
  });

  it('is enough for what the console shows', async () => {
    const machineId = await newMachine(server, {});
    const url = `${server.httpUrl}/machines/${machineId}\n`;
    expect((await run(`open ${machineId}`)).stdout).toBe(url);
    expect((await run(`show ${machineId} --web`)).stdout).toBe(url);
    const page = async (line: string) => {
      const { pathname, searchParams } = new URL((await run(line)).stdout.trim());
      return [pathname, searchParams.get('filter')];
    };
    expect(await page('list -l env=prod --filter phase=READY --web')).toEqual([
      '/machines',
      '(phase=READY) AND (labels.env=prod)',
    ]);
    expect(await page(`ops -m ${machineId} --web`)).toEqual(['/operations', `machine_id=${machineId}`]);
    expect(await page('events --filter kind=token --web')).toEqual(['/audit', 'kind=token']);
    expect(await page('rollout list --web')).toEqual(['/rollouts', null]);
    expect(await page('rollout show ro-1 --web')).toEqual(['/rollouts/ro-1', null]);
  });
});

describe('--reason', () => {
  const comments = async (filter: string) =>
    (await run(`events --filter "${filter}" --limit 1 -o jsonpath=.comment`)).stdout;

  it('of any change is in the history, in any script', async () => {
    const pool = fresh('pool');
    await run(`pool create ${pool} --reason "für die neuen GPUs"`);
    expect(await comments(`kind=pool AND subject=${pool}`)).toBe('für die neuen GPUs\n');
    const token = fresh('token');
    await run(`token create ${token} --role viewer --reason "audit of May"`);
    await run(`token revoke ${token} --reason "audit is over"`);
    expect(await comments(`kind=token AND subject=${token}`)).toBe('audit is over\n');
    const machineId = await newMachine(server, {});
    await run(`update ${machineId} -l env=prod --reason "moved to production"`);
    expect(await comments(`machine_id=${machineId}`)).toBe('moved to production\n');
  });

  it('goes over REST, too', async () => {
    const name = fresh('flow');
    const file = JSON.stringify({ name, kernel: 'vmlinuz', initrd: 'initrd', cmdline: '' });
    const folder = mkdtempSync(join(tmpdir(), 'ingot-reason-'));
    try {
      writeFileSync(`${folder}/flow.json`, file);
      expect(await run(`workflow create -f ${folder}/flow.json --reason "first try"`)).toMatchObject({
        code: 0,
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
    expect(await comments(`kind=workflow AND subject=${name}`)).toBe('first try\n');
    await run(`workflow delete ${name} --reason "no longer needed"`);
    expect(await comments(`kind=workflow AND subject=${name}`)).toBe('no longer needed\n');
  });

  it('that is too long is refused', async () => {
    const { code, stderr } = await run(`pool create ${fresh('pool')} --reason ${'x'.repeat(1001)}`);
    expect({ code, stderr }).toEqual({
      code: 64,
      stderr: 'error: ingot-reason: must be at most 1000 characters [INVALID_FIELD]\n',
    });
  });
});

describe('many machines', () => {
  it('are shown by --dry-run, and nothing is done', async () => {
    const labels = { rack: fresh('r') };
    const ready = await newMachine(server, { phase: 'READY', labels });
    await newMachine(server, { labels });
    const { code, stdout, stderr } = await run(`reboot -l rack=${labels.rack} --dry-run`);
    expect(stderr).toBe('nothing was done\n');
    expect(stdout).toContain('1 of 2 machines');
    expect(stdout).toContain('Left out');
    expect(code).toBe(0);
    expect((await run(`ops -m ${ready} --filter type=REBOOT -o name`)).stdout).toBe('');
    expect((await run(`decommission -l rack=${labels.rack} --mode soft_reset --dry-run`)).stdout).toContain(
      '2',
    );
  });

  it('come from stdin', async () => {
    const ids = [await newMachine(server, {}), await newMachine(server, {})];
    const { code, stdout } = await run('enter-maintenance - --yes', { input: `${ids.join('\n')}\n` });
    expect(stdout.match(/SUCCEEDED/g)).toHaveLength(2);
    expect(code).toBe(0);
  });
});

describe('what the console has', () => {
  it('is a session, which is listed and ended', async () => {
    const name = fresh('carla');
    const { secret } = await server.admin.createToken({ name, role: 'viewer' });
    const headers = { authorization: `Bearer ${secret}` };
    const signedIn = await fetch(`${server.httpUrl}/auth/session`, { method: 'POST', headers });
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
    const isSignedIn = async () => {
      const answer = await fetch(`${server.httpUrl}/auth/session`, { headers: { cookie } });
      return ((await answer.json()) as { signed_in: boolean }).signed_in;
    };
    expect(await isSignedIn()).toBe(true);
    const sessions = JSON.parse((await run('session list -o json')).stdout) as Array<Record<string, string>>;
    const id = sessions.find(({ identity }) => identity === name)?.session_id ?? '';
    expect((await run(`session show ${id}`)).stdout).toMatch(new RegExp(`^Identity: +${name}$`, 'm'));
    expect((await run(`session end ${id} --reason "laptop was lost"`)).stdout).toBe(`signed ${name} out\n`);
    await expect.poll(isSignedIn).toBe(false);
    expect(await run(`session end ${id}`)).toMatchObject({ code: 1 });
  });

  it('are providers, with what each can do', async () => {
    expect((await run('provider list')).stdout).toMatch(/^fake +fake +yes +/m);
    expect((await run('provider show generic -o jsonpath=.kind')).stdout).toBe('generic\n');
  });

  it('are saved views, of an address that was copied too', async () => {
    const name = fresh('view');
    const query = 'filter=phase%3DMAINTENANCE&group=location.rack';
    expect((await run(`view save ${name} --query ${server.httpUrl}/machines?${query}`)).stdout).toBe(
      `saved view ${name}\n`,
    );
    expect((await run(`view show ${name} -o jsonpath=.query`)).stdout).toBe(`${query}\n`);
    expect((await run(`view save ${name} --query ${query} --shared --reason team`)).stdout).toBe(
      `shared view ${name}\n`,
    );
    expect((await run(`view delete ${name}`)).stdout).toBe(`deleted view ${name}\n`);
    expect((await run(`view list -o name`)).stdout).toContain(`${name}\n`);
    expect((await run(`view delete ${name} --shared`)).code).toBe(0);
    expect(await run(`view delete ${name} --shared`)).toMatchObject({ code: 1 });
  });
});

describe('lists', () => {
  it('are sorted before they are limited', async () => {
    const prefix = fresh('sort');
    for (const name of ['a', 'c', 'b']) await run(`pool create ${prefix}-${name}`);
    expect((await run('pool list --sort -pool --limit 1 -o name')).stdout).toBe(`${prefix}-c\n`);
    expect((await run(`pool list --columns pool,health --sort pool`)).stdout).toMatch(/^POOL +HEALTH\n/);
  });

  it('have a show for one of them', async () => {
    expect((await run('token show admin')).stdout).toMatch(/^Name: +\S+\nRole: +admin\n/);
    expect(await run('token show none-such')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is no token none-such [TOKEN_NOT_FOUND]'),
    });
  });
});
