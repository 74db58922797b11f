/** Retired is final, by whichever path one comes. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MachineFlag_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { MachineService as MachineServiceV1 } from '../../src/gen/baremetal/v1/machine_service_pb.ts';
import { RunService } from '../../src/gen/baremetal/v1/run_service_pb.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import {
  boot,
  call,
  createNode,
  historyOf,
  nodeOf,
  prepareInstall,
  report,
  setState,
  type TestNode,
} from './rest.ts';

let server: TestServer;
let operator: string;
beforeAll(async () => {
  server = await startTestServer({ pools: ['gpu'], netboot: { provider: 'fake' } });
  await prepareInstall(server);
  ({ secret: operator } = await server.admin.createToken({ name: 'op', role: 'operator' }));
});
afterAll(() => server?.stop());

async function retiredNode(): Promise<TestNode> {
  const node = await createNode(server);
  await setState(server, node.id, 'pending');
  expect((await call(server, 'DELETE', `/nodes/${node.id}`)).status).toBe(200);
  return node;
}

async function isStillRetired({ id }: TestNode) {
  expect((await nodeOf(server, id)).state).toBe('retired');
  const { status } = await server.machines.getMachine({ machineId: id });
  expect(status?.conditions).toMatchObject([{ type: 'Retired', status: true }]);
}

describe('only an admin retires', () => {
  it.each(['retired', 'RETIRED', 'Retired'])(
    '%s is 403 for an operator, alone and in bulk',
    async (state) => {
      const { id } = await createNode(server);
      const one = await call(server, 'PATCH', `/nodes/${id}/state`, { state, force: true }, operator);
      expect(one).toMatchObject({ status: 403, body: { detail: expect.stringContaining('admin') } });
      const many = await call(server, 'POST', '/nodes/bulk/state', { node_ids: [id], state }, operator);
      expect(many.status).toBe(403);
      expect((await call(server, 'DELETE', `/nodes/${id}`, undefined, operator)).status).toBe(403);
      expect((await nodeOf(server, id)).state).toBe('discovered');
      expect((await call(server, 'PATCH', `/nodes/${id}/state`, { state: 'pending' }, operator)).status).toBe(
        200,
      );
      expect((await setState(server, id, state)).body.data.state).toBe('retired');
    },
  );
});

describe('a retired node', () => {
  it('keeps its flag: unflagging is refused with the reason', async () => {
    const node = await retiredNode();
    await expect(
      server.admin.unflagMachine({ machineId: node.id, flag: MachineFlag_Value.RETIRED, reason: 'back' }),
    ).rejects.toMatchObject({ reason: 'NODE_RETIRED', message: expect.stringContaining('final') });
    await isStillRetired(node);
  });

  it('comes back by no state, no operation, no run and no agent', async () => {
    const node = await retiredNode();
    const { id } = node;
    for (const state of ['pending', 'active', 'discovered', 'reprovision']) {
      expect((await setState(server, id, state, { force: true })).status).toBe(400);
    }
    await expect(
      server.machines.reimageMachine({ machineId: id, requestId: 'r1', imageRef: 'x' }),
    ).rejects.toMatchObject({ reason: 'MACHINE_BLOCKED' });
    await expect(server.machines.rebootMachine({ machineId: id, requestId: 'r2' })).rejects.toThrow(
      /Retired/,
    );
    await expect(
      server
        .client(RunService, server.adminToken)
        .startRun({ machineId: id, requestId: 'r3', type: 'REBOOT' }),
    ).rejects.toThrow(/Retired/);
    await expect(
      server.admin.onboardMachine({ machineId: id, requestId: 'r4', pool: 'gpu' }),
    ).rejects.toThrow(/Retired/);
    await expect(server.admin.createMachine({ machineId: id, pool: 'gpu' })).rejects.toThrow(/Retired/);
    await server.machines.registerMachine({ machine: { machineId: id, spec: { macAddresses: [node.mac] } } });
    await isStillRetired(node);
  });

  it('is not discovered again: its boots go to disk, its reports change nothing', async () => {
    const node = await retiredNode();
    const before = (await call(server, 'GET', '/nodes')).body.total;
    const { script, token } = await boot(server, node.mac);
    expect(token).toBeNull();
    expect(script).toContain('retired');
    for (const status of ['started', 'complete', 'failed', null]) {
      expect(await report(server, node.mac, status)).toMatchObject({
        status: 200,
        body: { data: { id: node.id } },
      });
    }
    expect((await call(server, 'GET', '/nodes')).body.total).toBe(before);
    expect((await historyOf(server, node.id)).every((line) => !line.startsWith('retired>p'))).toBe(true);
    await isStillRetired(node);
  });

  it('keeps its address, and a request for it is refused with the name of its owner', async () => {
    const node = await retiredNode();
    expect(await call(server, 'POST', '/nodes', { mac_address: node.mac })).toMatchObject({
      status: 409,
      body: {
        reason: 'MAC_TAKEN',
        machine_id: node.id,
        detail: `Node with MAC ${node.mac} already exists: it is machine ${node.id}, which is retired for good`,
      },
    });
    const registering = { machine: { machineId: 'another', spec: { macAddresses: [node.mac] } } };
    const taken = new RegExp(`${node.id}, which is retired for good`);
    await expect(server.machines.registerMachine(registering)).rejects.toThrow(taken);
    await expect(
      server.client(MachineServiceV1, server.adminToken).registerMachine(registering),
    ).rejects.toThrow(taken);
    await server.machines.registerMachine({ machine: { machineId: 'another' } });
    await expect(server.machines.updateMachine(registering)).rejects.toThrow(taken);
    const other = await createNode(server);
    expect((await call(server, 'POST', '/nodes', { mac_address: other.mac })).body.detail).toBe(
      `Node with MAC ${other.mac} already exists`,
    );
  });
});

describe('the flag of an admin alone', () => {
  it('has nothing installed while it is set, and can be taken off', async () => {
    const { id, mac } = await createNode(server);
    await server.admin.flagMachine({ machineId: id, flag: MachineFlag_Value.RETIRED, reason: 'sold' });
    expect(await setState(server, id, 'pending')).toMatchObject({
      status: 400,
      body: { reason: 'MACHINE_BLOCKED' },
    });
    await server.admin.unflagMachine({ machineId: id, flag: MachineFlag_Value.RETIRED, reason: 'not sold' });
    expect((await setState(server, id, 'pending')).status).toBe(200);
    await server.admin.flagMachine({ machineId: id, flag: MachineFlag_Value.RETIRED, reason: 'sold' });
    const { script, token } = await boot(server, mac);
    expect({ token, script }).toEqual({ token: null, script: expect.stringContaining('flagged Retired') });
  });
});
