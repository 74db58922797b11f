/** A full decommission that a rule names waits for a second person, and MAAS is asked for nothing meanwhile. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AdminService, DecommissionMode_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { approvalsConfiguration } from '../../src/server/settings/approval-configuration.ts';
import { refusal, type TestServer } from '../parts/server.ts';
import { type MaasSite, newMachine, openMaasSite, requestId, startMaasServer } from './fleet.ts';

let site: MaasSite;
let server: TestServer;

beforeAll(async () => {
  site = await openMaasSite();
  const approvals = approvalsConfiguration.parse(['type=DECOMMISSION AND mode=full_decommission']);
  server = await startMaasServer(site, { configuration: { approvals } });
});
afterAll(async () => {
  await server?.stop();
  await site?.stop();
});

async function person(name: string) {
  return server.client(AdminService, (await server.admin.createToken({ name, role: 'admin' })).secret);
}

it('waits, is not approved by its requester, and is canceled by a rejection', async () => {
  const { id: machineId } = await newMachine(server);
  await server.sql(`UPDATE machines SET service = 'active' WHERE machine_id = $1`, [machineId]);
  const requester = await person('requester');
  const mode = DecommissionMode_Value.FULL_DECOMMISSION;
  const { operationId, waitingFor } = await requester.decommissionMachine({
    ...{ machineId, mode, requestId: requestId() },
  });
  expect(waitingFor).toBe('waiting for approval');
  expect(await refusal(requester.approveOperation({ operationId, reason: 'mine' }))).toMatchObject({
    reason: 'NOT_THE_APPROVER',
  });
  const { status } = await server.machines.getMachine({ machineId });
  expect(status?.service).toBe('active');
  const rejected = await (await person('second')).rejectOperation({ operationId, reason: 'not this one' });
  expect(rejected.approval).toMatchObject({ state: 'rejected', comment: 'not this one' });
});
