/** Steps that change hardware, in plans, runs and rollouts of a real server with simulated machines; and the evidence of erasures. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyCertificate } from '../../src/audit/erase-certificate.ts';
import { HardwareService } from '../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { RolloutService } from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { type FakeState, NEW_FAKE_STATE, settle } from '../../src/providers/fake/fake-state.ts';
import { conditionOf, ended, fresh, get, newMachine, phaseOf } from '../api/fleet.ts';
import { newPlan, runEnded, runPhase, startRun, v1Of } from '../api-v1/runs.ts';
import { launch } from '../cli/harness.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';

let server: TestServer;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ingot-certificates-'));
  server = await startTestServer();
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const hardware = (token = server.adminToken) => server.client(HardwareService, token);
const cli = (line: string) =>
  launch(server.grpcAddress, line, { env: { INGOT_TOKEN: server.adminToken }, cwd: folder }).ended;

type Kind = NonNullable<NonNullable<Parameters<typeof newPlan>[1]>[number]['kind']>;
const SETTINGS: Kind = { case: 'biosSettings', value: { attributes: { LogicalProc: 'Disabled' } } };
const IMAGE = {
  component: 'BIOS',
  version: '2.0',
  imageUrl: 'https://images.example/bios',
  sha256: 'a'.repeat(64),
};
const FIRMWARE: Kind = { case: 'firmwareUpdate', value: IMAGE };
const BOOT_ORDER: Kind = { case: 'bootOrder', value: { order: ['pxe', 'disk'] } };
const OS = { name: 'os', level: 'RAID1', drives: ['D1', 'D2'], capacityBytes: 480_000_000_000n };
const RAID: Kind = { case: 'raid', value: { volumes: [OS], destroyExisting: true } };
const ERASE: Kind = { case: 'eraseDisks', value: { by: 'bmc' } };

/** As it is now: what a task changes is written with the next one. */
async function stateOf(machineId: string): Promise<FakeState> {
  const [row] = await server.sql<{ state: FakeState }>(
    'SELECT state FROM fake_machines WHERE machine_id = $1',
    [machineId],
  );
  return settle({ ...NEW_FAKE_STATE, ...row?.state }, Date.now());
}

describe('steps that change hardware', () => {
  it('are kept in a plan as they were written, and carried out by a run', async () => {
    const kinds = [FIRMWARE, SETTINGS, BOOT_ORDER, RAID];
    const { planId } = await newPlan(
      server,
      kinds.map((kind) => ({ name: kind.case ?? '', kind })),
    );
    const shown = await v1Of(server).plans.getPlan({ planId });
    expect(shown.steps.map(({ kind }) => kind)).toMatchObject(kinds);
    const machineId = await newMachine(server, { phase: 'MAINTENANCE' });
    const runs = v1Of(server);
    const end = await runEnded(runs, await startRun(runs, 'UPGRADE', machineId, { planId }));
    expect([runPhase(end), end.error?.message]).toEqual(['SUCCEEDED', undefined]);
    expect(await stateOf(machineId)).toMatchObject({
      firmware: { BIOS: '2.0' },
      bios: { LogicalProc: 'Disabled' },
      bootOrder: ['pxe', 'disk', 'http'],
      volumes: [{ name: 'os', level: 'RAID1' }],
    });
  });

  it('that destroy data are refused outside of maintenance', async () => {
    const machineId = await newMachine(server, { phase: 'READY' });
    for (const kind of [RAID, ERASE]) {
      const { planId } = await newPlan(server, [{ name: 'work', kind }]);
      const refused = await refusal(startRun(v1Of(server), 'UPGRADE', machineId, { planId }));
      expect(refused).toMatchObject({ code: 'FAILED_PRECONDITION', reason: 'WRONG_PHASE' });
    }
  });

  it('run in a rollout', async () => {
    const { planId } = await newPlan(server, [{ name: 'settings', kind: SETTINGS }]);
    const room = fresh('room');
    const machineIds = [
      await newMachine(server, { phase: 'MAINTENANCE', labels: { room } }),
      await newMachine(server, { phase: 'MAINTENANCE', labels: { room } }),
    ];
    const rollouts = server.client(RolloutService, server.adminToken);
    const plan = { step: { case: 'plan' as const, value: { planId, type: 'UPGRADE' } } };
    const { rolloutId } = await rollouts.createRollout({
      spec: { machineIds, steps: [plan] },
      requestId: fresh('r'),
    });
    await until(
      async () => Promise.all(machineIds.map(stateOf)),
      (states) => states.every(({ bios }) => bios.LogicalProc === 'Disabled'),
    );
    expect(rolloutId).not.toBe('');
  });

  it.each([
    ['biosSettings', { attributes: {} }, 'at least one attribute'],
    ['biosSettings', { attributes: { A: [1] } }, 'a text, a number, true or false'],
    ['bootOrder', { order: [] }, 'boot_order.order'],
    ['firmwareUpdate', { ...IMAGE, sha256: 'abc' }, 'the SHA-256 of the image'],
    ['firmwareUpdate', { ...IMAGE, imageUrl: 'ftp://x/y' }, 'an http or https address'],
    ['firmwareUpdate', { ...IMAGE, imageUrl: 'https://u:p@x/y' }, 'no user and no password'],
    [
      'raid',
      { volumes: [{ name: 'a', level: 'RAID5', drives: ['1', '2'] }] },
      'RAID5 needs at least 3 drives',
    ],
    ['raid', { volumes: [] }, 'must name a volume'],
    ['raid', { volumes: [{ name: 'a', level: 'RAID9', drives: ['1'] }] }, 'one of RAID0'],
    ['eraseDisks', { by: 'magnet' }, 'installer'],
  ])('%s %j is refused with the field', async (field, value, words) => {
    const refused = await refusal(newPlan(server, [{ name: 'work', kind: { case: field, value } as never }]));
    expect(refused).toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'INVALID_FIELD' });
    expect(refused.message).toContain(words);
  });
});

describe('the certificate of an erasure', () => {
  async function erased(): Promise<{ machineId: string; operationId: string }> {
    const machineId = await newMachine(server, { phase: 'MAINTENANCE' });
    const { planId } = await newPlan(server, [{ name: 'erase', kind: ERASE }]);
    const runs = v1Of(server);
    const end = await runEnded(runs, await startRun(runs, 'UPGRADE', machineId, { planId }));
    expect([runPhase(end), end.error?.message]).toEqual(['SUCCEEDED', undefined]);
    const [row] = await server.sql<{ operation_id: string }>(
      'SELECT operation_id FROM erase_certificates WHERE machine_id = $1',
      [machineId],
    );
    return { machineId, operationId: row?.operation_id ?? '' };
  }

  it('has each drive, is signed by the key of the audit chain, and is verified without a server', async () => {
    const { machineId, operationId } = await erased();
    const certificate = await hardware().getEraseCertificate({ machineId });
    expect(certificate).toMatchObject({ machineId, operationId, outcome: 'erased', erasedBy: 'bmc' });
    expect(certificate.drives).toMatchObject([
      { name: 'sda', serialNumber: machineId, method: 'bmc-secure-erase', result: 'erased' },
    ]);
    expect(certificate.drives[0]?.erasedAt).toBeDefined();
    const { keyId } = await server.admin.getAuditKey({});
    expect(certificate.keyId).toBe(keyId);
    expect(conditionOf(await get(server, machineId), 'Provisioned')).toMatchObject({
      status: false,
      reason: 'Erased',
    });

    const text = await cli(`erase-certificate ${machineId}`);
    expect(text.stdout).toMatch(
      new RegExp(`sda: +erased by bmc-secure-erase; model simulated; serial ${machineId}; .*; 20`),
    );
    const json = await cli(`erase-certificate ${machineId} -o json`);
    expect(verifyCertificate(json.stdout)).toMatchObject({ keyId, problem: null });
    writeFileSync(join(folder, 'certificate.json'), json.stdout);
    const verified = await cli('erase-certificate --verify certificate.json');
    expect([verified.code, verified.stdout]).toEqual([0, expect.stringMatching(/Signature: +valid/)]);
    writeFileSync(
      join(folder, 'forged.json'),
      json.stdout.replace(`"serial": "${machineId}"`, '"serial": "other"'),
    );
    const forged = await cli('erase-certificate --verify forged.json -o json');
    expect(forged.code).not.toBe(0);
    expect(JSON.parse(forged.stdout)).toMatchObject({
      valid: false,
      problem: expect.stringContaining('it was changed'),
    });
  });

  it('is anchored in the audit chain, and outlives the machine', async () => {
    const { machineId } = await erased();
    const [event] = await server.sql<{ metadata: { certificate_sha256: string } }>(
      `SELECT metadata FROM events WHERE kind = 'hardware' AND subject = 'erasure' AND machine_id = $1`,
      [machineId],
    );
    expect(event?.metadata.certificate_sha256).toMatch(/^[0-9a-f]{64}$/);
    const { secret } = await server.admin.createToken({
      name: fresh('t'),
      role: 'viewer',
      scope: 'labels.team=none',
    });
    expect((await refusal(hardware(secret).getEraseCertificate({ machineId }))).reason).toBe(
      'MACHINE_NOT_FOUND',
    );
  });

  it('is also issued by ERASE through the installer', async () => {
    const machineId = await newMachine(server, { phase: 'MAINTENANCE' });
    await server.sql(`UPDATE machines SET install = 'active' WHERE machine_id = $1`, [machineId]);
    const operation = await server.admin.eraseMachine({ machineId, requestId: fresh('erase') });
    const end = await ended(server, operation);
    expect([phaseOf(end), end.error?.message]).toEqual(['SUCCEEDED', undefined]);
    const certificate = await hardware().getEraseCertificate({
      machineId,
      operationId: operation.operationId,
    });
    expect(certificate).toMatchObject({ erasedBy: 'installer', outcome: 'erased' });
    expect(certificate.drives).toMatchObject([{ method: 'ata-secure-erase', result: 'erased' }]);
  });

  it('that does not exist is said so', async () => {
    const machineId = await newMachine(server);
    expect((await refusal(hardware().getEraseCertificate({ machineId }))).reason).toBe(
      'ERASE_CERTIFICATE_NOT_FOUND',
    );
    expect((await refusal(hardware().getEraseCertificate({ machineId: 'nowhere' }))).reason).toBe(
      'MACHINE_NOT_FOUND',
    );
    const missing = await cli(`erase-certificate ${machineId}`);
    expect([missing.code === 0, missing.stderr]).toEqual([
      false,
      expect.stringContaining('no erase certificate'),
    ]);
    expect((await cli('erase-certificate')).stderr).toContain('which machine?');
    expect((await cli('erase-certificate --verify nowhere.json')).stderr).toContain("can't be read");
  });
});
