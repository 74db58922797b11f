// @module-tag extended: operator-actions.test.ts ends operations in each way.
/** However a workflow ends, no machine is left in a state that only an operation may own. */

import { createServer, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { OperatorAction_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { launch } from '../cli/harness.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { ended, fresh, get, newMachine, waitingAt } from './fleet.ts';

let server: TestServer;
let site: Server;
beforeAll(async () => {
  // The site is never done with it.
  site = createServer((_request, response) => {
    response.statusCode = 202;
    response.end();
  });
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  const address = site.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  server = await startTestServer({ hooks: { drain_node: { url: `http://127.0.0.1:${port}/` } } });
});
afterAll(async () => {
  await server?.stop();
  site?.close();
});

/** A drain that waits for the site, of a machine that is where `service` says. */
async function waiting(service: 'draining' | 'removing') {
  const machineId = await newMachine(server);
  await server.sql(`UPDATE machines SET service = 'active' WHERE machine_id = $1`, [machineId]);
  const operation = await server.admin.drainMachine({ machineId, requestId: fresh('drain') });
  await waitingAt(server, operation, 'drain_node');
  await server.sql('UPDATE machines SET service = $2 WHERE machine_id = $1', [machineId, service]);
  return { machineId, operation };
}

const serviceOf = async (machineId: string) => (await get(server, machineId)).status?.service;

it.each([
  ['draining', 'offline'],
  ['removing', 'retired'],
] as const)(
  'one that is %s is %s when its operation is canceled, held, or given up',
  async (service, after) => {
    const canceled = await waiting(service);
    await server.machines.cancelOperation({ operationId: canceled.operation.operationId });
    expect(await ended(server, canceled.operation)).toMatchObject({ status: 'cancelled' });
    expect(await serviceOf(canceled.machineId)).toBe(after);

    const held = await waiting(service);
    const { operationId } = held.operation;
    const action = OperatorAction_Value.MARK_MANUAL_INTERVENTION_REQUIRED;
    // In the same transaction: nothing is read in between.
    await server.admin.actOnOperation({ operationId, action, reason: 'not today' });
    expect(await serviceOf(held.machineId)).toBe(after);
    const history = await server.sql(
      `SELECT to_state FROM events WHERE machine_id = $1 AND kind = 'service' AND operation_id = $2 AND to_state = $3`,
      [held.machineId, operationId, after],
    );
    expect(history).toHaveLength(1);
  },
);

it('a node whose agent sends keepalives is active again after a canceled drain, and not after a canceled onboarding', async () => {
  const offline = async (reason: string) => {
    const machineId = await newMachine(server);
    const canceled = { status: true, reason, message: '', lastTransition: new Date(0).toISOString() };
    await server.sql(
      `UPDATE machines SET service = 'offline', presence = 'ready', conditions = $2 WHERE machine_id = $1`,
      [machineId, JSON.stringify({ OperationCanceled: canceled })],
    );
    return machineId;
  };
  const calledOff = await offline('OnboardCanceled');
  const drained = await offline('Canceled');
  await until(
    () => serviceOf(drained),
    (service) => service === 'active',
  );
  // Two more rounds of the reconciler that brings nodes back.
  await sleep(2_500);
  expect(await serviceOf(calledOff)).toBe('offline');
});

it('a drain of what is draining returns the operation that does it; one that is being canceled is refused', async () => {
  const { machineId, operation } = await waiting('draining');
  const again = await server.admin.drainMachine({ machineId, requestId: fresh('drain') });
  expect(again.operationId).toBe(operation.operationId);
  const { operations } = await server.operations.listOperations({ filter: `machine_id=${machineId}` });
  expect(operations).toHaveLength(1);
  // What is not draining has nothing to join.
  await server.sql(`UPDATE machines SET service = 'active' WHERE machine_id = $1`, [machineId]);
  const refused = server.admin.drainMachine({ machineId, requestId: fresh('drain') });
  await expect(refused).rejects.toThrow('has an active operation');
  await server.sql(`UPDATE machines SET service = 'draining' WHERE machine_id = $1`, [machineId]);
  await server.sql('UPDATE operations SET cancel_requested = true WHERE operation_id = $1', [
    operation.operationId,
  ]);
  const late = server.admin.drainMachine({ machineId, requestId: fresh('drain') });
  await expect(late).rejects.toThrow('has an active operation');
});

it('ingot drain of what is draining succeeds with the operation that runs, and follows it to its end', async () => {
  const { machineId, operation } = await waiting('draining');
  const drain = (options: string) =>
    launch(server.grpcAddress, `drain ${machineId} ${options}`, { env: { INGOT_TOKEN: server.adminToken } });
  const accepted = await drain('--no-wait').ended;
  expect(accepted).toMatchObject({ code: 0, stdout: expect.stringContaining(operation.operationId) });
  expect(await drain('--no-wait -o name').ended).toMatchObject({
    code: 0,
    stdout: `${operation.operationId}\n`,
  });
  const followed = drain('');
  await until(
    async () => followed.stdout.text + followed.stderr.text,
    (text) => text.includes(operation.operationId),
  );
  await server.machines.cancelOperation({ operationId: operation.operationId });
  const { code, stdout, stderr } = await followed.ended;
  expect(code).not.toBe(0);
  expect(stdout + stderr).toContain('CANCELED');
  const { operations } = await server.operations.listOperations({ filter: `machine_id=${machineId}` });
  expect(operations.map(({ operationId }) => operationId)).toEqual([operation.operationId]);
});

it('a removal of what is removing returns the operation that does it, and so does no other workflow', async () => {
  const { machineId, operation } = await waiting('removing');
  const again = await server.admin.removeMachine({ machineId, requestId: fresh('remove') });
  expect(again.operationId).toBe(operation.operationId);
  const drain = server.admin.drainMachine({ machineId, requestId: fresh('drain') });
  await expect(drain).rejects.toThrow('is removing; DRAIN needs');
});
