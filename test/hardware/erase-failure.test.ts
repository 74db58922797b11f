// @module-tag extended: nodes/erasure.test.ts has erasures that fail.
/** An erasure that fails is on record, and no certificate stands for it: a real server, and a simulated BMC that erases drives. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { HardwareService } from '../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { fresh, run } from '../api/fleet.ts';
import { newPlan, runEnded, startRun, v1Of } from '../api-v1/runs.ts';
import { launch } from '../cli/harness.ts';
import type { RedfishSimulator } from '../parts/redfish/simulator.ts';
import { refusal, type TestServer } from '../parts/server.ts';
import { type RedfishSite, startRedfishSite } from './redfish-site.ts';

let site: RedfishSite;
let server: TestServer;
let bmc: RedfishSimulator;
let machineId: string;

beforeAll(async () => {
  site = await startRedfishSite(null);
  server = site.server;
  bmc = await site.startBmc();
  bmc.system.power = 'On';
  bmc.hardware.drives = [];
  bmc.storage.hasController = true;
  machineId = fresh('erased');
  const spec = { provider: 'dc', bmcEndpoint: bmc.url };
  await server.machines.registerMachine({ machine: { machineId, spec } });
  await run(server, 'ENTER_MAINTENANCE', machineId);
});
afterAll(() => site?.stop());

const hardware = () => server.client(HardwareService, server.adminToken);
const cli = (line: string) =>
  launch(server.grpcAddress, line, { env: { INGOT_TOKEN: server.adminToken } }).ended;

async function erase(timeoutSeconds = 300) {
  const { planId } = await newPlan(server, [
    { name: 'erase', timeoutSeconds, kind: { case: 'eraseDisks', value: { by: 'bmc' } } },
  ]);
  const runs = v1Of(server);
  return runEnded(runs, await startRun(runs, 'UPGRADE', machineId, { planId }));
}

it('says so in place of a certificate, and beside that of an earlier erasure', async () => {
  bmc.tasks.nextFails = 'The drive is locked.';
  const first = await erase();
  expect(first.error).toMatchObject({
    code: 'ERASE_FAILED',
    message: expect.stringContaining('The drive is locked.'),
  });
  const refused = await refusal(hardware().getEraseCertificate({ machineId }));
  expect([refused.reason, refused.message]).toEqual([
    'ERASE_CERTIFICATE_NOT_FOUND',
    expect.stringMatching(/its erasure failed: the BMC did not erase Disk\.Bay\.0 .*The drive is locked/),
  ]);
  const events = await server.sql<{ comment: string }>(
    `SELECT comment FROM events WHERE kind = 'hardware' AND subject = 'erasure' AND to_state = 'failed' AND machine_id = $1`,
    [machineId],
  );
  expect(events).toEqual([{ comment: expect.stringContaining('The drive is locked.') }]);

  await server.admin.clearNeedsIntervention({ machineId, reason: 'unlocked' });
  const second = await erase();
  expect(second.error?.message).toBeUndefined();
  expect(await hardware().getEraseCertificate({ machineId })).toMatchObject({
    outcome: 'erased',
    failedSince: '',
  });

  bmc.tasks.nextFails = 'The drive is locked again.';
  await erase();
  const certificate = await hardware().getEraseCertificate({ machineId });
  expect(certificate.failedSince).toContain('The drive is locked again.');
  const shown = await cli(`erase-certificate ${machineId}`);
  expect(shown.stdout).toMatch(/Outcome: +erased/);
  expect(shown.stderr).toMatch(/a later one failed: .*The drive is locked again/);
});

it('is on record where it does not end within its time', async () => {
  await server.admin.clearNeedsIntervention({ machineId, reason: 'unlocked' });
  bmc.tasks.nextHangs = true;
  const late = await erase(2);
  expect(late.error?.code).toBe('TIMED_OUT');
  const certificate = await hardware().getEraseCertificate({ machineId });
  expect(certificate.failedSince).toMatch(/not done within 2 s \(erasing Disk\.Bay\.0\)/);
});
