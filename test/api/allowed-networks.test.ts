// @module-tag extended: src/connections has the networks; this has the calls that name addresses.
/** Where the server lets itself be sent, and what viewers see of it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AdminService } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { OperationService } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { runOf, step } from '../advice/scenario.ts';
import { v1Of } from '../api-v1/runs.ts';
import { call } from '../nodes/rest.ts';
import { needs } from '../parts/debian-packages.ts';
import { freePort } from '../parts/free-port.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { createKey } from '../parts/sshd.ts';
import { until } from '../parts/until.ts';
import { conditionOf, ended, fresh, get } from './fleet.ts';

const programs = needs('sshd');
const PATIENCE = 60_000;

let folder: string;
let server: TestServer;
let viewerToken: string;

beforeAll(async () => {
  if (programs.isMissing) return;
  folder = mkdtempSync(join(tmpdir(), 'ingot-networks-'));
  createKey(join(folder, 'key'), 'ed25519');
  const ssh = { user: 'root', private_key_file: join(folder, 'key'), insecure_accept_any: true };
  server = await startTestServer({
    providers: { dc: datacenterConfiguration.parse({ kind: 'datacenter', ssh }) },
    allowedNetworks: ['127.0.0.0/8', '10.20.0.0/16'],
    probes: { intervalSeconds: 1 },
  });
  viewerToken = (await server.admin.createToken({ name: 'viewer', role: 'viewer' })).secret;
});
afterAll(async () => {
  await server?.stop();
  if (folder) rmSync(folder, { recursive: true });
});

const register = async (spec: { sshEndpoint?: string; bmcEndpoint?: string }) => {
  const machineId = fresh('net');
  await server.machines.registerMachine({ machine: { machineId, spec: { provider: 'dc', ...spec } } });
  return machineId;
};

describe.skipIf(programs.isMissing)(programs.title('an address that is never connected to'), () => {
  it.each([
    ['169.254.169.254', 'metadata'],
    ['169.254.169.254:80', 'metadata'],
    ['2852039166', 'metadata'],
    ['[::ffff:169.254.169.254]:22', 'metadata'],
    ['[fd00:ec2::254]', 'metadata'],
    ['[fe80::1]:22', 'link-local'],
    ['224.0.0.1', 'multicast'],
    ['0.0.0.0:22', 'unspecified'],
    ['255.255.255.255', 'broadcast'],
  ])('%s is refused as the endpoint of a machine', async (endpoint, what) => {
    for (const field of ['sshEndpoint', 'bmcEndpoint'] as const) {
      const error = await refusal(register({ [field]: endpoint }));
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
      expect(JSON.stringify(error.violations)).toContain(what);
      expect(JSON.stringify(error.violations)).toContain('never connected to');
    }
  });

  it('is refused in every way to set it', async () => {
    const machineId = await register({});
    const machine = { machineId, spec: { bmcEndpoint: 'https://169.254.169.254/redfish' } };
    const updateMask = { paths: ['spec.bmc_endpoint'] };
    const v1 = v1Of(server);
    for (const work of [
      () => server.machines.updateMachine({ machine, updateMask }),
      () => v1.machines.updateMachine({ machine, updateMask }),
      () => v1.machines.registerMachine({ machine: { ...machine, machineId: fresh('net') } }),
    ])
      expect(await refusal(work())).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it.each([
    ['http://169.254.169.254/image.raw', 'never connected to'],
    ['http://192.0.2.7/image.raw', 'allowed_networks'],
  ])('or is not allowed is refused as the URL of an image: %s', async (url, words) => {
    const image = { url, sha256: 'a'.repeat(64), size_bytes: 1 };
    const answer = await call(server, 'POST', '/workflows', { name: fresh('w'), image });
    expect(answer.status).toBe(422);
    expect(JSON.stringify(answer.body)).toContain(words);
  });

  it('but a URL of an allowed network is stored', async () => {
    const image = { url: 'http://10.20.0.9/image.raw', sha256: 'a'.repeat(64), size_bytes: 1 };
    expect((await call(server, 'POST', '/workflows', { name: fresh('w'), image })).status).toBe(201);
  });
});

const SSH_STEP = step({ case: 'ssh', value: { command: 'true', repeatable: true } });

describe.skipIf(programs.isMissing)(programs.title('allowed_networks'), () => {
  it('refuses the start of what would leave them, and its probe', async () => {
    const machineId = await register({ sshEndpoint: '192.0.2.1:22' });
    expect(await refusal(runOf(server, machineId, SSH_STEP))).toMatchObject({
      code: 'FAILED_PRECONDITION',
      reason: 'ADDRESS_NOT_ALLOWED',
      message: expect.stringContaining('192.0.2.1 is not in allowed_networks'),
    });
    const machine = await until(
      () => get(server, machineId),
      (one) => conditionOf(one, 'Reachable')?.status === false,
      PATIENCE,
    );
    expect(conditionOf(machine, 'Reachable')).toMatchObject({ reason: 'AddressNotAllowed' });
  });
});

describe.skipIf(programs.isMissing)(programs.title('how a connection failed'), () => {
  it('is for operators; viewers see that it is not reachable, in every API', async () => {
    const machineId = await register({ sshEndpoint: `127.0.0.1:${await freePort()}` });
    const unreachable = await until(
      () => get(server, machineId),
      (one) => conditionOf(one, 'Reachable')?.status === false,
      PATIENCE,
    );
    expect(conditionOf(unreachable, 'Reachable')).toMatchObject({
      reason: 'ConnectRefused',
      message: expect.stringContaining('not reachable (connection refused)'),
    });
    const explained = await server.admin.explainMachine({ machineId });
    expect(textOf(explained)).toContain('connection refused');
    const operationId = await runOf(server, machineId, { ...SSH_STEP, timeoutSeconds: 1 });
    await ended(server, { operationId });
    const seenBy = (token: string) => readAll(token, machineId, operationId);
    const [asViewer, asAdmin] = await Promise.all([seenBy(viewerToken), seenBy(server.adminToken)]);
    for (const [place, text] of Object.entries(asViewer))
      expect(text, place).not.toMatch(/connection refused|ECONN|ConnectRefused/);
    for (const place of [
      'v2 machine',
      'v2 machines',
      'v1 machine',
      'fleet machines',
      'fleet events',
    ] as const) {
      expect(asViewer[place], place).toMatch(/is not reachable"/);
      expect(asViewer[place], place).toContain('NotReachable');
      expect(asAdmin[place], place).toContain('not reachable (connection refused)');
      expect(asAdmin[place], place).toContain('ConnectRefused');
    }
  }, 120_000);
});

async function readAll(token: string, machineId: string, operationId: string) {
  const machines = server.client(MachineService, token);
  const operations = server.client(OperationService, token);
  const fleet = server.client(FleetService, token);
  const admin = server.client(AdminService, token);
  const v1 = v1Of(server, token);
  const lines: string[] = [];
  for await (const { data } of operations.streamOperationLogs({ operationId }))
    lines.push(Buffer.from(data).toString());
  return {
    'v2 machine': textOf(await machines.getMachine({ machineId })),
    'v2 machines': textOf(await machines.listMachines({ filter: `machine_id=${machineId}` })),
    'v1 machine': textOf(await v1.machines.getMachine({ machineId })),
    'fleet machines': textOf(await fleet.getMachines({ machineIds: [machineId] })),
    'fleet events': textOf(await fleet.listEvents({ filter: `machine_id=${machineId}` })),
    'v2 operation': textOf(await operations.getOperation({ operationId })),
    explain: textOf(await admin.explainMachine({ machineId })),
    log: lines.join('\n'),
  };
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_key, one) => (typeof one === 'bigint' ? String(one) : one));
}
