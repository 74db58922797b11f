// @module-tag extended: burn-in.test.ts boots the same installer; inspection.test.ts has what is found.
/** An inspection in band, from its start to the inventory: the machine's BMC is simulated, and the test reports as the installer would. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { HardwareService } from '../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { ended, fresh, newMachine, phaseOf } from '../api/fleet.ts';
import { newPlan, runEnded, runPhase, startRun, v1Of } from '../api-v1/runs.ts';
import { boot, call, newMac } from '../nodes/rest.ts';
import { refusal, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { type RedfishSite, startRedfishSite } from './redfish-site.ts';

let site: RedfishSite;
let server: TestServer;

beforeAll(async () => {
  site = await startRedfishSite(null);
  server = site.server;
});
afterAll(() => site?.stop());

const hardware = () => server.client(HardwareService, server.adminToken);
const INVENTORY = {
  system: { vendor: 'Dell Inc.', model: 'PowerEdge R750', serial_number: 'ABC' },
  cpu: { model: 'Xeon', sockets: 2, cores: 64, threads: 128 },
  memory: { total_bytes: 34_359_738_368, modules: [{ slot: 'A1', size_bytes: 34_359_738_368 }] },
  disks: [{ name: 'nvme0n1', serial_number: 'N1', size_bytes: 960e9 }],
  nics: [{ name: 'eth0', mac_address: '52:54:00:aa:bb:01' }],
  gpus: [],
};

async function started() {
  const [machineId, mac] = [fresh('inspected'), newMac()];
  const bmc = await site.startBmc();
  const spec = { provider: 'dc', bmcEndpoint: bmc.url, macAddresses: [mac] };
  await server.machines.registerMachine({ machine: { machineId, spec } });
  const operation = await hardware().inspectMachine({ machineId, requestId: fresh('r'), inBand: true });
  const { script, token } = await until(
    () => boot(server, mac),
    (booted) => booted.token !== null,
  );
  expect(script).toContain(`Ingot: inspecting machine ${machineId}`);
  // It tests nothing: installers that know burn-ins know inspections.
  expect(script).toMatch(/ingot\.mode=burn-in .*ingot\.tests= ingot\.seconds=1/);
  const report = (status: string, more = {}, by = token) =>
    call(server, 'POST', '/burn-in', { mac_address: mac, installation_status: status, ...more }, by);
  return { machineId, mac, bmc, report, end: () => ended(server, operation) };
}

it('takes the inventory that the installer reports, and the machine boots from its disk afterwards', async () => {
  const { machineId, mac, bmc, report, end } = await started();
  expect((await report('started', { inventory: INVENTORY }, 'another-token')).status).not.toBe(200);
  expect((await report('started', { inventory: INVENTORY })).status).toBe(200);
  expect((await report('complete', { burn_in: { results: [] } })).status).toBe(200);
  const operation = await end();
  expect([phaseOf(operation), operation.steps[0]?.message]).toEqual([
    'SUCCEEDED',
    expect.stringMatching(/1 memory module, 1 drive.*version 1/),
  ]);
  const found = await hardware().getHardware({ machineId });
  expect(found.drives).toMatchObject([{ serialNumber: 'N1', origin: { source: 'installer' } }]);
  expect(bmc.system.boots).toHaveLength(1);
  // The boot override was for one boot, no disk was wanted of the BMC, and the token is used up.
  expect((await boot(server, mac)).token).toBeNull();
  expect((await report('complete')).status).not.toBe(200);
  expect((await refusal(hardware().getBurnIn({ machineId }))).reason).toBe('BURN_IN_NOT_FOUND');
  const [event] = await server.sql<{ to_state: string; operation_id: string }>(
    `SELECT to_state, operation_id FROM events WHERE kind = 'hardware' AND subject = 'installer' AND machine_id = $1`,
    [machineId],
  );
  expect(event).toEqual({ to_state: 'version 1', operation_id: operation.operationId });
});

it('fails where the installer fails, or reports no inventory, and the machine needs a person', async () => {
  const silent = await started();
  await silent.report('started');
  await silent.report('complete');
  const operation = await silent.end();
  expect(phaseOf(operation)).toBe('FAILED');
  expect(operation.error).toMatchObject({
    code: 'INSPECTION_FAILED',
    message: expect.stringContaining('the installer reported no inventory'),
  });
  const broken = await started();
  await broken.report('failed', { installation_error: 'no network' });
  expect((await broken.end()).error?.message).toContain('no network');
});

it('is refused for a machine in service, and by a request id that was used for the BMC', async () => {
  const machineId = await newMachine(server, { phase: 'READY' });
  const inBand = await refusal(hardware().inspectMachine({ machineId, requestId: 'one', inBand: true }));
  expect([inBand.reason, inBand.message]).toEqual([
    'WRONG_PHASE',
    `${machineId} is READY; an inspection in band reboots it and needs FACTORY_READY or MAINTENANCE`,
  ]);
  await ended(server, await hardware().inspectMachine({ machineId, requestId: 'one' }));
  const again = await refusal(hardware().inspectMachine({ machineId, requestId: 'one', inBand: true }));
  expect(again.reason).toBe('REQUEST_ID_REUSED');
});

it('is a step of plans', async () => {
  const inspect = (inBand: boolean) => ({
    name: 'inspect',
    timeoutSeconds: 600,
    kind: { case: 'inspect' as const, value: { inBand } },
  });
  const { planId } = await newPlan(server, [inspect(true)]);
  const ready = await newMachine(server, { phase: 'READY' });
  expect((await refusal(startRun(v1Of(server), 'UPGRADE', ready, { planId }))).reason).toBe('WRONG_PHASE');
  const machineId = await newMachine(server, { phase: 'MAINTENANCE' });
  const runs = v1Of(server);
  const run = await runEnded(runs, await startRun(runs, 'UPGRADE', machineId, { planId }));
  expect([runPhase(run), run.error?.message]).toEqual(['SUCCEEDED', undefined]);
  const { drives } = await hardware().getHardware({ machineId });
  expect(drives).toMatchObject([{ origin: { source: 'installer' } }]);
});
