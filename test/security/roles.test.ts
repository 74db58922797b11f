import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfiguration } from '../../src/server/settings/configuration.ts';
import { fresh, newMachine } from '../api/fleet.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { as, rest } from './tenants.ts';

const dir = mkdtempSync(join(tmpdir(), 'ingot-roles-'));

function configurationOf(text: string) {
  const file = join(dir, 'ingot.yaml');
  writeFileSync(file, text);
  return readConfiguration(file);
}

const ROLES = `
roles:
  on-call:
    methods: [MachineService/Get*, baremetal.v2.MachineService/RebootMachine, "GET /api/v1/nodes*"]
  token-desk:
    methods: [AdminService/CreateToken, AdminService/RotateToken, MachineService/Get*]
  reader:
    methods: [MachineService/Get*]
`;

let server: TestServer;
let machineId: string;

beforeAll(async () => {
  server = await startTestServer({ roles: configurationOf(ROLES).roles });
  machineId = await newMachine(server, { phase: 'READY' });
});
afterAll(async () => {
  await server?.stop();
  rmSync(dir, { recursive: true, force: true });
});

async function clientsWith(role: string) {
  const { secret } = await server.admin.createToken({ name: fresh(role), role });
  return { ...as(server, secret), secret };
}

describe('a role of the configuration', () => {
  test('has its methods, and no other', async () => {
    const { machines, secret } = await clientsWith('on-call');
    expect((await machines.getMachine({ machineId })).machineId).toBe(machineId);
    await machines.rebootMachine({ machineId, requestId: fresh('r') });
    expect(await refusal(machines.listMachines({}))).toMatchObject({
      code: 'PERMISSION_DENIED',
      metadata: { role: 'on-call', method: 'baremetal.v2.MachineService/ListMachines' },
      message: expect.stringContaining('is not among the methods of the role on-call'),
    });
    expect((await rest(server, secret, 'GET', '/api/v1/nodes')).status).toBe(200);
    expect((await rest(server, secret, 'GET', '/api/v1/pool/list')).status).toBe(403);
    expect((await rest(server, secret, 'GET', '/api/v1/machine/list')).status).toBe(403);
  });

  test('tells its caller what it may call', async () => {
    const me = await (await clientsWith('on-call')).fleet.whoAmI({});
    expect(me.role).toBe('on-call');
    expect(me.methods).toContain('baremetal.v2.MachineService/RebootMachine');
    expect(me.methods).not.toContain('baremetal.v2.MachineService/ReimageMachine');
  });

  test('gives no token that could do more than itself, and rotates none', async () => {
    const { admin } = await clientsWith('token-desk');
    await admin.createToken({ name: fresh('small'), role: 'reader' });
    for (const role of ['admin', 'viewer', 'on-call'])
      expect((await refusal(admin.createToken({ name: fresh('big'), role }))).code).toBe('PERMISSION_DENIED');
    expect((await refusal(admin.rotateToken({ name: 'admin' }))).code).toBe('PERMISSION_DENIED');
  });

  test('that no server knows is refused for a token, with the ones that there are', async () => {
    const error = await refusal(server.admin.createToken({ name: fresh('none'), role: 'onn-call' }));
    expect(error.message).toContain('viewer, operator, admin, on-call, token-desk, reader');
  });

  test('with an unknown method stops the start, and the line names the nearest one', () => {
    expect(() => configurationOf('roles: { a: { methods: [MachineService/GetMachin] } }')).toThrow(
      'roles.a.methods.0: "MachineService/GetMachin" is no method; the nearest is MachineService/GetMachine',
    );
  });
});
