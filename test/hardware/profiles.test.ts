/** Expected against found, on a real server with simulated machines, whose hardware is always the same. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { HardwareService } from '../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { conditionOf, ended, fresh, get, newMachine, phaseOf, run } from '../api/fleet.ts';
import { newPlan, runEnded, runPhase, startRun, v1Of } from '../api-v1/runs.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

const hardware = () => server.client(HardwareService, server.adminToken);

async function inspected(labels: Readonly<Record<string, string>>): Promise<string> {
  const machineId = await newMachine(server, { phase: 'READY', labels });
  expect(phaseOf(await inspect(machineId))).toBe('SUCCEEDED');
  return machineId;
}

async function inspect(machineId: string) {
  return ended(server, await hardware().inspectMachine({ machineId, requestId: fresh('r') }));
}

const setProfile = (name: string, match: string, ...expects: string[]) =>
  hardware().setHardwareProfile({ profile: { name, match, expect: expects } });
const degraded = async (machineId: string) => conditionOf(await get(server, machineId), 'Degraded');

it('what differs is Degraded with the difference in words, until it matches or the profile goes', async () => {
  const sku = fresh('sku');
  const [machineId, other] = [await inspected({ sku }), await inspected({ sku: 'another' })];
  const name = fresh('profile');
  await setProfile(name, `labels.sku=${sku}`, 'hardware.gpu.count=8', 'hardware.memory_gib>=128');
  expect(await degraded(machineId)).toMatchObject({
    status: true,
    reason: 'HardwareMismatch',
    message: `${name} expects hardware.gpu.count=8, found 0`,
  });
  expect(await degraded(other)).toBeUndefined();
  const found = await hardware().getHardware({ machineId });
  expect(found).toMatchObject({
    profiles: [name],
    differences: [`${name} expects hardware.gpu.count=8, found 0`],
  });
  await setProfile(name, `labels.sku=${sku}`, 'hardware.gpu.count=0');
  expect(await degraded(machineId)).toMatchObject({ status: false, reason: 'HardwareMatches' });
  await setProfile(name, `labels.sku=${sku}`, 'hardware.model:"2U"');
  expect((await degraded(machineId))?.message).toBe(`${name} expects hardware.model:"2U", found "Fake 1U"`);
  await hardware().deleteHardwareProfile({ name });
  expect(await degraded(machineId)).toMatchObject({ status: false, reason: 'HardwareMatches' });
});

it('an inspection judges the machine by SKU, in the transaction that records it', async () => {
  const name = fresh('profile');
  const machineId = await newMachine(server, { phase: 'READY', labels: { room: name } });
  await setProfile(name, `hardware.sku="FAKE-1U" AND labels.room=${name}`, 'hardware.drive.count=24');
  // Nothing is known of it yet.
  expect(await degraded(machineId)).toBeUndefined();
  await inspect(machineId);
  expect((await degraded(machineId))?.message).toBe(`${name} expects hardware.drive.count=24, found 1`);
  await hardware().deleteHardwareProfile({ name });
});

it('a plan requires a match: it fails where the machine differs, where no profile applies and where nothing is known', async () => {
  const { planId } = await newPlan(server, [
    { name: 'inspect', kind: { case: 'inspect', value: {} } },
    { name: 'verify', kind: { case: 'verifyHardware', value: {} } },
  ]);
  const shown = await v1Of(server).plans.getPlan({ planId });
  expect(shown.steps.map(({ kind }) => kind.case)).toEqual(['inspect', 'verifyHardware']);
  const name = fresh('profile');
  const machineId = await newMachine(server, { phase: 'READY', labels: { room: name } });
  const runs = v1Of(server);
  const runIt = async () => runEnded(runs, await startRun(runs, 'REBOOT', machineId, { planId }));
  const none = await runIt();
  expect(runPhase(none)).toBe('FAILED');
  expect(none.error?.message).toContain('no hardware profile applies');
  await setProfile(name, `labels.room=${name}`, 'hardware.cpu.cores=64');
  const differs = await runIt();
  expect(differs.error?.message).toContain(`${name} expects hardware.cpu.cores=64, found 32`);
  await setProfile(name, `labels.room=${name}`, 'hardware.cpu.cores=32', 'hardware.unhealthy=0');
  expect(runPhase(await runIt())).toBe('SUCCEEDED');
  await hardware().deleteHardwareProfile({ name });
});

it('a label requires a match before every repave, and nothing is done to a machine that differs', async () => {
  const name = fresh('profile');
  const machineId = await newMachine(server, {
    phase: 'MAINTENANCE',
    labels: { room: name, 'ingot/verify-hardware': 'required' },
  });
  await inspect(machineId);
  await setProfile(name, `labels.room=${name}`, 'hardware.cpu.cores=64');
  const refused = await run(server, 'REIMAGE', machineId);
  expect(refused.error).toMatchObject({ code: 'HARDWARE_MISMATCH' });
  expect(refused.steps.map(({ name: step }) => step)).toEqual([
    'verify-hardware',
    'netboot',
    'reboot',
    'repave',
  ]);
  const runs = v1Of(server);
  const { planId } = await newPlan(server, [{ name: 'image', kind: { case: 'repave', value: {} } }]);
  const repave = await runEnded(runs, await startRun(runs, 'REPAVE', machineId, { planId }));
  expect([runPhase(repave), repave.steps[0]?.name]).toEqual(['FAILED', 'verify-hardware']);
  await setProfile(name, `labels.room=${name}`, 'hardware.cpu.cores=32');
  expect(phaseOf(await run(server, 'REIMAGE', machineId))).toBe('SUCCEEDED');
  await hardware().deleteHardwareProfile({ name });
});

it('refuses what is no comparison of hardware, and names the field', async () => {
  for (const [match, wanted, field] of [
    ['', 'hardware.gpu.count=8', 'profile.match'],
    ['labels.a=b', 'phase=READY', 'profile.expect[0]'],
    ['labels.a=b', 'hardware.gpu.count=many', 'profile.expect[0]'],
    ['nothing=1', 'hardware.gpu.count=8', 'profile.match'],
  ] as const) {
    const refused = await refusal(setProfile('wrong', match, wanted));
    expect(refused.message).toContain(field);
  }
  expect((await refusal(hardware().deleteHardwareProfile({ name: 'none' }))).reason).toBe(
    'HARDWARE_PROFILE_NOT_FOUND',
  );
});

it('a profile of a caller with a scope is for machines of the scope, and no other scope changes it', async () => {
  const as = async (scope: string) =>
    server.client(
      HardwareService,
      (await server.admin.createToken({ name: fresh('a'), role: 'admin', scope })).secret,
    );
  const [ofA, ofB] = [await as('labels.team=a'), await as('labels.team=b')];
  const [inA, inB] = [await inspected({ team: 'a' }), await inspected({ team: 'b' })];
  const profile = {
    name: fresh('profile'),
    match: 'hardware.sku="FAKE-1U"',
    expect: ['hardware.gpu.count=8'],
  };
  await ofA.setHardwareProfile({ profile });
  expect((await degraded(inA))?.status).toBe(true);
  expect(await degraded(inB)).toBeUndefined();
  expect((await ofB.listHardwareProfiles({})).profiles.map(({ name }) => name)).not.toContain(profile.name);
  expect((await refusal(ofB.setHardwareProfile({ profile }))).reason).toBe('OUT_OF_SCOPE');
  expect((await refusal(ofB.deleteHardwareProfile({ name: profile.name }))).reason).toBe(
    'HARDWARE_PROFILE_NOT_FOUND',
  );
  await ofA.deleteHardwareProfile({ name: profile.name });
});
