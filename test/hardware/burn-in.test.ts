/** A burn-in, from its order to its results: the machine's BMC is simulated, and the test reports as the installer would. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { HardwareService } from '../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { ended, fresh, newMachine } from '../api/fleet.ts';
import { newPlan, runEnded, runPhase, startRun, v1Of } from '../api-v1/runs.ts';
import { launch } from '../cli/harness.ts';
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
const PASSED = { test: 'cpu', part: '64 processors', result: 'passed', detail: '9 rounds', seconds: 60 };
const FAILED = {
  test: 'memory',
  part: 'DIMM_A1',
  result: 'failed',
  detail: '3 corrected errors',
  seconds: 60,
};

async function started() {
  const [machineId, mac] = [fresh('tested'), newMac()];
  const bmc = await site.startBmc();
  const spec = { provider: 'dc', bmcEndpoint: bmc.url, macAddresses: [mac] };
  await server.machines.registerMachine({ machine: { machineId, spec } });
  await ended(server, await server.machines.enterMaintenance({ machineId, requestId: fresh('in') }));
  const { planId } = await newPlan(server, [
    {
      name: 'test',
      timeoutSeconds: 600,
      kind: { case: 'burnIn', value: { tests: ['cpu', 'memory'], seconds: 60 } },
    },
  ]);
  const runs = v1Of(server);
  const run = await startRun(runs, 'UPGRADE', machineId, { planId });
  const { script, token } = await until(
    () => boot(server, mac),
    (booted) => booted.token !== null,
  );
  expect(script).toContain(`Ingot: testing machine ${machineId}`);
  expect(script).toMatch(/ingot\.mode=burn-in .*ingot\.tests=cpu,memory ingot\.seconds=60/);
  const report = (status: string, more = {}, by = token) =>
    call(server, 'POST', '/burn-in', { mac_address: mac, installation_status: status, ...more }, by);
  return { machineId, mac, report, end: () => runEnded(runs, run) };
}

it('passes with the results of each part, which are kept and shown', async () => {
  const { machineId, mac, report, end } = await started();
  expect((await report('started')).status).toBe(200);
  await report('progress', { installation_progress: 40 });
  expect(await hardware().getBurnIn({ machineId })).toMatchObject({ state: 'running', percent: 40 });
  const results = [PASSED, { ...FAILED, part: 'memory', result: 'passed', detail: '512 MiB compared' }];
  expect((await report('complete', { burn_in: { results } })).status).toBe(200);
  const run = await end();
  expect([runPhase(run), run.steps[0]?.message]).toEqual(['SUCCEEDED', 'passed: 64 processors, memory']);
  expect(await hardware().getBurnIn({ machineId })).toMatchObject({ state: 'passed', results });
  const shown = await launch(server.grpcAddress, `hardware burn-in ${machineId}`, {
    env: { INGOT_TOKEN: server.adminToken },
  }).ended;
  expect(shown.stdout).toMatch(/cpu: +passed: 64 processors: 9 rounds/);
  // The machine boots from its disk, and the token opens nothing any more.
  expect((await boot(server, mac)).token).toBeNull();
  expect((await report('complete', { burn_in: { results: [FAILED] } })).status).not.toBe(200);
});

it('fails with the part that failed', async () => {
  const { machineId, report, end } = await started();
  expect((await report('started', {}, 'another-token')).status).not.toBe(200);
  await report('complete', { burn_in: { results: [PASSED, FAILED] } });
  const run = await end();
  expect(runPhase(run)).toBe('FAILED');
  expect(run.error).toMatchObject({
    code: 'BURN_IN_FAILED',
    message: 'failed: DIMM_A1 (3 corrected errors)',
  });
  const [event] = await server.sql<{ to_state: string; comment: string }>(
    `SELECT to_state, comment FROM events WHERE kind = 'hardware' AND subject = 'burn-in' AND machine_id = $1`,
    [machineId],
  );
  expect(event).toEqual({ to_state: 'failed', comment: 'failed: DIMM_A1 (3 corrected errors)' });
});

it('has not passed where a test that was ordered has no result', async () => {
  const { report, end } = await started();
  await report('complete', { burn_in: { results: [PASSED] } });
  expect((await end()).error?.message).toBe('failed: memory (the machine reported no result)');
});

it('what reports no result, or one that can not be read, has not passed', async () => {
  const { report, end } = await started();
  await report('complete', { burn_in: { results: [PASSED, 'all is well'] } });
  expect((await end()).error?.message).toContain('its result can not be read');
  const other = await started();
  await other.report('complete');
  expect((await other.end()).error?.message).toBe('nothing was tested');
});

it('is refused outside of maintenance, with too short a limit, and where nothing was tested', async () => {
  const kind = { case: 'burnIn' as const, value: { seconds: 60 } };
  const short = await refusal(newPlan(server, [{ name: 'test', timeoutSeconds: 300, kind }]));
  expect(short.message).toContain('must be at least 360');
  const { planId } = await newPlan(server, [{ name: 'test', timeoutSeconds: 360, kind }]);
  const machineId = await newMachine(server, { phase: 'READY' });
  expect((await refusal(startRun(v1Of(server), 'UPGRADE', machineId, { planId }))).reason).toBe(
    'WRONG_PHASE',
  );
  expect((await refusal(hardware().getBurnIn({ machineId }))).reason).toBe('BURN_IN_NOT_FOUND');
});
