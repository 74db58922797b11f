import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fresh, newMachine } from '../api/fleet.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { launch } from './harness.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

const run = (line: string) =>
  launch(server.grpcAddress, line, { env: { INGOT_TOKEN: server.adminToken } }).ended;

describe('budgets on the command line', () => {
  it('are created, listed with their use, and deleted', async () => {
    const labels = { role: fresh('role'), 'fake/hang-step': 'reboot' };
    const spec = { location: { rack: 'r7' } };
    const [busy, idle] = [
      await newMachine(server, { phase: 'READY', labels, spec }),
      await newMachine(server, { phase: 'READY', labels, spec }),
    ];
    const filter = `labels.role=${labels.role}`;
    expect(
      (await run(`budget create racks --filter ${filter} --group-by location.rack --max-unavailable 1`))
        .stdout,
    ).toBe('created budget racks\n');
    await server.machines.rebootMachine({ machineId: busy, requestId: 'r-1' });
    expect((await run('budget list')).stdout).toMatch(
      new RegExp(`racks +${filter} +location.rack +1 +1/1 +r7 +api`),
    );
    const [listed] = JSON.parse((await run('budget list -o json')).stdout) as [Record<string, unknown>];
    expect(listed).toMatchObject({
      name: 'racks',
      max_unavailable: '1',
      groups: [{ group: 'r7', unavailable: 1, limit: 1, machines: 2, machine_ids: [busy] }],
    });

    const refused = await run(`reboot ${idle} --no-wait`);
    expect(refused.code).toBe(5);
    expect(refused.stderr).toContain(
      `budget racks allows 1 unavailable in location.rack r7, and 1 machine is: ${busy}`,
    );
    expect(refused.stderr).toContain('--override-budget');

    expect(await run(`reboot ${idle} --no-wait --override-budget`)).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('--override-budget needs --reason'),
    });
    expect(await run(`reboot ${idle} --no-wait --override-budget --reason "rack is on fire"`)).toMatchObject({
      code: 0,
    });
    expect((await run('budget list')).stdout).toMatch(/ 2\/1 +r7/);

    expect((await run('budget delete racks')).stdout).toBe('deleted budget racks\n');
    expect(await run('budget delete racks')).toMatchObject({ code: 1 });
    expect((await run('budget list')).stderr).toContain('no budgets yet');
  });
});
