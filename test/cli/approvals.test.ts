// @module-tag extended: api/approvals.test.ts has the rules; cli/operator-actions.test.ts the commands of operations.
/** Second-person approval on the command line: who may decide, and what then becomes of the operation. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { approvalsConfiguration } from '../../src/server/settings/approval-configuration.ts';
import { ended, fresh, newMachine, phaseOf } from '../api/fleet.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { launch } from './harness.ts';

const RULES = ['type=REIMAGE AND labels.env=prod'];

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ configuration: { approvals: approvalsConfiguration.parse(RULES) } });
});
afterAll(() => server?.stop());

const person = async () => (await server.admin.createToken({ name: fresh('person'), role: 'admin' })).secret;
const run = (line: string, token: string) =>
  launch(server.grpcAddress, line, { env: { INGOT_TOKEN: token } }).ended;

async function waitingReimage(token: string): Promise<string> {
  const labels = { env: 'prod', 'fake/step-ms': '1' };
  const machineId = await newMachine(server, { phase: 'MAINTENANCE', labels });
  const machines = server.client(MachineService, token);
  return (await machines.reimageMachine({ machineId, requestId: fresh('r') })).operationId;
}

const operation = (operationId: string) => server.operations.getOperation({ operationId });

describe('ingot op approve and reject', () => {
  it('let another person approve, and not the requester', async () => {
    const requester = await person();
    const operationId = await waitingReimage(requester);
    const own = await run(`op approve ${operationId} --reason mine`, requester);
    expect(own.code).not.toBe(0);
    expect(own.stderr).toContain('[NOT_THE_APPROVER]');
    expect((await operation(operationId)).waitingFor).toBe('waiting for approval');
    expect(await run(`op approve ${operationId} --reason "window is open"`, await person())).toMatchObject({
      code: 0,
    });
    expect(phaseOf(await ended(server, { operationId }))).toBe('SUCCEEDED');
  });

  it('let another person reject, with the reason', async () => {
    const operationId = await waitingReimage(await person());
    expect(await run(`op reject ${operationId} --reason "not on a Friday"`, await person())).toMatchObject({
      code: 0,
    });
    const rejected = await operation(operationId);
    expect([phaseOf(rejected), rejected.approval?.state]).toEqual(['CANCELED', 'rejected']);
    expect(rejected.approval?.comment).toBe('not on a Friday');
  });
});
