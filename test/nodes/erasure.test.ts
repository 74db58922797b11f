/** Erasures, by an admin who sets the state, and work on hardware that boots the machine over its BMC. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INSTALLER_MANIFEST } from '../../src/domain/install/installer-manifest.ts';
import { HardwareService } from '../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { conditionOf, ended, fresh, get, phaseOf, run } from '../api/fleet.ts';
import { bmcFields, unusedKey } from '../datacenter/bmc-site.ts';
import { needs } from '../parts/debian-packages.ts';
import { type IpmiBmc, startBmc } from '../parts/ipmi.ts';
import { putInstaller, refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import {
  boot,
  call,
  createNode,
  historyOf,
  newMac,
  nodeOf,
  proofOf,
  report,
  setState,
  type TestNode,
} from './rest.ts';

const programs = needs('ipmi');
const TIME_LIMIT = 60_000;

const DISKS = [
  {
    name: 'nvme0n1',
    model: 'QEMU NVMe Ctrl',
    serial: 'NVME-1',
    size_bytes: 64,
    method: 'nvme-format',
    result: 'erased',
    verified: 'the partition table is gone; 64 samples are zero',
    not_done: '',
    seconds: 3,
  },
  {
    name: 'vda',
    model: '',
    serial: 'VIRTIO-1',
    size_bytes: 64,
    method: 'overwrite-partial',
    result: 'partial',
    verified: 'both ends read as zero',
    not_done: 'the 40 bytes between the ends were not written over: the disk has no erase command',
    seconds: 1,
  },
];

describe.skipIf(programs.isMissing)(programs.title('an erasure'), () => {
  let server: TestServer;
  let bmc: IpmiBmc;
  let dataDir: string;
  const key = unusedKey();

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'ingot-erasure-'));
    bmc = await startBmc();
    const dc = datacenterConfiguration.parse({
      kind: 'datacenter',
      ssh: { user: 'root', private_key_file: key.file, insecure_accept_any: true },
      bmc: bmcFields(bmc),
    });
    server = await startTestServer({ dataDir, providers: { 'dc-1': dc } });
    await server.sql(
      `INSERT INTO images (image_name, sha256, size_bytes, created_by) VALUES ('private', repeat('0', 64), 1, 'admin:t')`,
    );
  }, TIME_LIMIT);
  afterAll(async () => {
    await server?.stop();
    await bmc?.stop();
    key.remove();
    rmSync(dataDir, { recursive: true, force: true });
  });

  async function activeNode(): Promise<TestNode> {
    const node = await createNode(server);
    await server.sql(`UPDATE machines SET install = 'active' WHERE machine_id = $1`, [node.id]);
    return node;
  }

  const lastOf = async (id: string) => (await call(server, 'GET', `/nodes/${id}/history`)).body.data[0];

  describe('that an admin sets', () => {
    it('is served to the next boot, and its evidence is the end of the node', async () => {
      const { id, mac } = await activeNode();
      expect((await setState(server, id, 'deprovisioning', { overwrite: 'whole' })).status).toBe(200);
      const { script, token } = await boot(server, mac);
      expect(script).toContain(`Ingot: erasing machine ${id}`);
      expect(script).toMatch(/ingot\.mode=erase .*ingot\.overwrite=whole/);
      expect(script).not.toContain('ingot.image');
      await report(server, mac, 'started', {}, token);
      expect(await nodeOf(server, id)).toMatchObject({ state: 'deprovisioning', install_progress: 0 });
      await report(server, mac, 'progress', { installation_progress: 50 }, token);
      const skipped = [{ name: 'sda', reason: 'removable' }];
      const end = await report(server, mac, 'complete', { erase: { disks: DISKS, skipped } }, token);
      expect(end).toMatchObject({ status: 200, body: { data: { state: 'retired' } } });
      expect(await lastOf(id)).toMatchObject({
        from_state: 'deprovisioning',
        to_state: 'retired',
        triggered_by: 'node_report',
        comment: expect.stringMatching(
          /^partly erased: nvme0n1 \(serial NVME-1\) by nvme-format, vda .* not done: .*; not touched: sda \(removable\)$/,
        ),
        metadata: { erase: { outcome: 'partial', disks: DISKS, skipped } },
      });
      expect((await nodeOf(server, id)).erasure).toMatchObject({ outcome: 'partial', disks: DISKS });
      const machine = await get(server, id);
      expect(conditionOf(machine, 'Retired')?.status).toBe(true);
      expect(conditionOf(machine, 'Provisioned')).toMatchObject({ status: false, reason: 'Erased' });
      expect((await boot(server, mac)).token).toBeNull();
    });

    it('can be set by an admin, and starts where docs/nodes.md allows it', async () => {
      const { id } = await activeNode();
      const { secret } = await server.admin.createToken({ name: fresh('op'), role: 'operator' });
      const asOperator = await call(
        server,
        'PATCH',
        `/nodes/${id}/state`,
        { state: 'deprovisioning' },
        secret,
      );
      expect(asOperator.status).toBe(403);
      const discovered = await createNode(server);
      expect((await setState(server, discovered.id, 'deprovisioning')).status).toBe(400);
      expect((await setState(server, id, 'migrating', { overwrite: 'whole' })).status).toBe(422);
    });

    it('opens no image with its token, and no installation’s token ends it', async () => {
      const { id, mac } = await activeNode();
      await server.sql(`UPDATE machines SET install = 'pending' WHERE machine_id = $1`, [id]);
      await call(server, 'POST', '/workflows', { name: 'private', image: { name: 'private' } });
      await call(server, 'PATCH', `/nodes/${id}`, { workflow: 'private' });
      const installing = (await boot(server, mac)).token;
      expect(installing).not.toBeNull();
      await server.sql(`UPDATE machines SET install = 'active' WHERE machine_id = $1`, [id]);
      await setState(server, id, 'deprovisioning');
      const late = await report(server, mac, 'complete', { erase: { disks: DISKS } }, installing);
      expect(late.body.data.state).toBe('deprovisioning');
      const untold = await report(server, mac, 'complete', { erase: { disks: DISKS } });
      expect(untold.body.data.state).toBe('deprovisioning');
      const { token } = await boot(server, mac);
      expect(await report(server, mac, 'complete', { erase: { disks: DISKS } })).toMatchObject({
        status: 403,
      });
      const image = await call(server, 'GET', '/images/private/content', undefined, token);
      expect([401, 403]).toContain(image.status);
    });

    it('is not served a fourth time after three failures, until force starts the counter again', async () => {
      const { id, mac } = await activeNode();
      await setState(server, id, 'deprovisioning');
      for (let attempt = 1; attempt <= 3; attempt += 1) {
        const { token } = await boot(server, mac);
        await report(server, mac, 'failed', { installation_error: 'nvme0n1: locked' }, token);
        expect(await lastOf(id)).toMatchObject({
          to_state: 'deprovisioning',
          metadata: { error: 'nvme0n1: locked', attempt },
        });
      }
      const refused = await boot(server, mac);
      expect(refused.token).toBeNull();
      expect(refused.script).toContain('its erasure failed 3 times');
      expect((await setState(server, id, 'deprovisioning')).status).toBe(400);
      expect((await setState(server, id, 'deprovisioning', { force: true })).status).toBe(200);
      const { token } = await boot(server, mac);
      expect(token).not.toBeNull();
      // The status counts, however odd its evidence; and nothing is claimed that it does not show.
      await report(server, mac, 'complete', { erase: { disks: ['all of them'] } }, token);
      expect(await lastOf(id)).toMatchObject({
        to_state: 'retired',
        metadata: { erase: { outcome: 'unproven' } },
        comment: expect.stringContaining('nothing is proven'),
      });
    });

    it('warns while no installer is built, and boots the disk until there is one', async () => {
      const { id, mac } = await activeNode();
      const installer = join(dataDir, 'boot', 'installer');
      rmSync(join(installer, 'initrd.gz'));
      const taken = await setState(server, id, 'deprovisioning');
      const { script } = await boot(server, mac);
      putInstaller(installer);
      expect(taken).toMatchObject({
        status: 200,
        body: {
          data: { state: 'deprovisioning' },
          message: expect.stringMatching(/boots from its disk; .*`ingot installer build`/),
        },
      });
      expect(script).not.toContain('kernel ');
      expect((await boot(server, mac)).script).toContain('kernel ');
    });

    it('is not served an installer of an earlier version, which would install', async () => {
      const { id, mac } = await activeNode();
      const manifest = join(dataDir, 'boot', 'installer', INSTALLER_MANIFEST);
      rmSync(manifest);
      const taken = await setState(server, id, 'deprovisioning');
      const { script } = await boot(server, mac);
      putInstaller(dirname(manifest));
      expect(taken.body.message).toContain(
        "build it again on the server's host with `ingot installer build`",
      );
      expect(script).not.toContain('kernel ');
      expect(script).toContain('is not one for its version');
    });
  });

  describe('that is an operation', () => {
    /** The one BMC is that of one machine at a time. */
    async function maintainedNode(): Promise<TestNode> {
      const id = fresh('erased');
      const mac = newMac();
      await server.sql(`UPDATE machines SET spec = spec || '{"bmc_endpoint": ""}'`);
      const spec = { provider: 'dc-1', bmcEndpoint: bmc.endpoint, macAddresses: [mac] };
      await server.machines.registerMachine({ machine: { machineId: id, spec } });
      await boot(server, mac);
      await server.sql(`UPDATE machines SET install = 'active' WHERE machine_id = $1`, [id]);
      await run(server, 'ENTER_MAINTENANCE', id);
      return { id, mac };
    }

    const erase = (machineId: string, overwrite = 0) =>
      server.admin.eraseMachine({ machineId, requestId: fresh('erase'), overwrite });

    const served = (mac: string, query = '') =>
      until(
        async () => {
          await sleep(100);
          return boot(server, mac, query);
        },
        ({ token }) => token !== null,
        TIME_LIMIT,
      );
    const booted = async (mac: string): Promise<string> => (await served(mac)).token ?? '';

    it(
      'boots the machine from the network, follows its reports, and ends with the evidence in its log',
      async () => {
        const { id, mac } = await maintainedNode();
        const { operationId } = await erase(id);
        const token = await booted(mac);
        await until(
          async () => bmc.isOn(),
          (isOn) => isOn,
          TIME_LIMIT,
        );
        expect(bmc.boots().at(-1)).toContain('pxe');
        await report(server, mac, 'started', {}, token);
        await until(
          () => server.operations.getOperation({ operationId }),
          ({ currentStep }) => currentStep === 'erase-disks',
          TIME_LIMIT,
        );
        await report(server, mac, 'complete', { erase: { disks: DISKS } }, token);
        const operation = await ended(server, { operationId });
        expect(phaseOf(operation), operation.error?.message).toBe('SUCCEEDED');
        expect(await historyOf(server, id)).toEqual([
          'active>deprovisioning system',
          'deprovisioning>retired node_report',
        ]);
        expect((await nodeOf(server, id)).erasure).toMatchObject({ operation_id: operationId });
        const lines = await server.sql<{ text: string }>(
          'SELECT text FROM operation_logs WHERE operation_id = $1',
          [operationId],
        );
        const log = lines.map(({ text }) => text).join('\n');
        expect(log).toContain(
          'nvme0n1: erased by nvme-format (model QEMU NVMe Ctrl, serial NVME-1, 64 bytes)',
        );
        expect(log).toContain('vda: not done: the 40 bytes');
        expect(conditionOf(await get(server, id), 'NeedsIntervention')?.status ?? false).toBe(false);
      },
      TIME_LIMIT,
    );

    it(
      'that nothing proves is on record as failed, and has no certificate',
      async () => {
        const { id, mac } = await maintainedNode();
        const { operationId } = await erase(id);
        await report(server, mac, 'started', {}, await booted(mac));
        await call(server, 'PATCH', `/nodes/${id}/state`, { state: 'retired' });
        expect((await ended(server, { operationId })).error?.code).toBe('ERASE_UNPROVEN');
        const hardware = server.client(HardwareService, server.adminToken);
        const refused = await refusal(hardware.getEraseCertificate({ machineId: id }));
        expect(refused.message).toMatch(/its erasure failed: .*retired/);
      },
      TIME_LIMIT,
    );

    it(
      'that is canceled is served no more, and another takes it up',
      async () => {
        const { id, mac } = await maintainedNode();
        const first = await erase(id);
        const token = await booted(mac);
        await server.machines.cancelOperation({ operationId: first.operationId });
        expect(phaseOf(await ended(server, first))).toBe('CANCELED');
        expect((await boot(server, mac)).script).toContain('the operation that wanted to erase it is over');
        expect((await report(server, mac, 'complete', { erase: { disks: DISKS } }, token)).status).toBe(403);
        expect((await nodeOf(server, id)).state).toBe('deprovisioning');
        const second = await erase(id);
        await report(server, mac, 'complete', { erase: { disks: DISKS } }, await booted(mac));
        expect(phaseOf(await ended(server, second))).toBe('SUCCEEDED');
      },
      TIME_LIMIT,
    );

    it('a migration with an image boots the replacement, recognises it, and then writes the image', {
      tags: ['extended'],
      timeout: TIME_LIMIT,
    }, async () => {
      const { id } = await maintainedNode();
      const mac = newMac();
      const before = bmc.boots().length;
      const { operationId } = await server.admin.migrateMachine({
        machineId: id,
        requestId: fresh('migrate'),
        macAddresses: [mac],
        serialNumber: 'NEW-1',
        imageRef: 'private',
      });
      const stepIs = (name: string) =>
        until(
          () => server.operations.getOperation({ operationId }),
          ({ currentStep, error }) => currentStep === name || error !== undefined,
          TIME_LIMIT,
        );
      await stepIs('await-replacement');
      expect(bmc.boots().slice(before).at(-1)).toContain('pxe');
      expect((await boot(server, mac)).token).toBeNull();
      await report(server, mac, null, { serial_number: 'NEW-1' });
      await stepIs('repave');
      const { script, token } = await served(mac, '&serial=NEW-1');
      await report(server, mac, 'started', {}, token);
      await report(server, mac, 'complete', proofOf(script, token, mac), token);
      const operation = await ended(server, { operationId });
      expect(phaseOf(operation), operation.error?.message).toBe('SUCCEEDED');
      expect(await historyOf(server, id)).toEqual([
        'active>migrating system',
        'migrating>active system',
        'active>reprovision system',
        'reprovision>pending system',
        'pending>installing node_report',
        'installing>installed node_report',
      ]);
    });

    it('needs maintenance, an active node and a way to boot it', async () => {
      const { id } = await maintainedNode();
      await run(server, 'EXIT_MAINTENANCE', id);
      await expect(erase(id)).rejects.toThrow(/is READY; ERASE needs MAINTENANCE/);
      await run(server, 'ENTER_MAINTENANCE', id);
      await server.sql(`UPDATE machines SET install = 'installed' WHERE machine_id = $1`, [id]);
      await expect(erase(id)).rejects.toThrow(
        /needs install state active or deprovisioning, and .* is installed/,
      );
      const { id: without } = await activeNode();
      await run(server, 'ENTER_MAINTENANCE', without);
      await expect(erase(without)).rejects.toThrow(/needs erasing, which provider/);
    });
  });
});
