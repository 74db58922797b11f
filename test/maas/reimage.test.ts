/** Images for machines of a MAAS, through both APIs: it releases what is deployed, deploys the image, and waits for it. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Operation } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { newPlan, startRun, v1Of } from '../api-v1/runs.ts';
import type { TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import {
  ended,
  type MaasSite,
  machineInMaas,
  machineInService,
  newMachine,
  openMaasSite,
  requestId,
  startMaasServer,
  statusOf,
} from './fleet.ts';

const TIME_LIMIT = 90_000;

// They wait for MAAS more than they work.
vi.setConfig({ maxConcurrency: 16 });

let site: MaasSite;
let server: TestServer;
beforeAll(async () => {
  site = await openMaasSite();
  server = await startMaasServer(site, { probes: { intervalSeconds: 1 } });
}, TIME_LIMIT);
afterAll(async () => {
  await server?.stop();
  await site?.stop();
});

/** What MAAS was asked to do with a machine, in order. */
const orders = async (systemId: string) =>
  (await site.simulator.admin.requests())
    .filter(
      ({ method, path, op }) => method === 'POST' && path.startsWith(`machines/${systemId}/`) && op !== '',
    )
    .map(({ op }) => op)
    .filter((op) => ['release', 'deploy', 'abort', 'power_on', 'power_off'].includes(op));

async function inMaintenance(id: string): Promise<void> {
  const entered = await server.machines.enterMaintenance({ machineId: id, requestId: requestId() });
  expect(await ended(server, entered)).toMatchObject({ status: 'completed' });
}

/** Onboarded, in service, and in maintenance. */
async function inService(): Promise<{ id: string; mac: string }> {
  const machine = await machineInService(server, { commissioned: site });
  await inMaintenance(machine.id);
  return machine;
}

const reimage = (machineId: string, imageRef = ''): Promise<Operation> =>
  server.machines.reimageMachine({ machineId, imageRef, requestId: requestId() });

describe.concurrent('reimage', () => {
  it(
    'releases, deploys the named image with a fresh token for the agent, and brings the node back into service',
    async () => {
      const { id, mac } = await inService();
      const before = await machineInMaas(site, mac);
      const operation = await ended(server, await reimage(id, 'ubuntu/jammy'));
      expect(operation).toMatchObject({ status: 'completed', params: { image_ref: 'ubuntu/jammy' } });
      expect(operation.steps.map(({ name, message }) => [name, message])).toEqual([
        ['netboot', 'MAAS boots it from the network by itself when it deploys ubuntu/jammy'],
        ['repave', 'ubuntu/jammy was deployed'],
      ]);
      const after = await machineInMaas(site, mac);
      expect(after).toMatchObject({ status_name: 'Deployed', osystem: 'ubuntu', distro_series: 'jammy' });
      expect(await orders(after.system_id)).toEqual(['deploy', 'release', 'deploy']);
      const token = (text: string) => /INGOT_MACHINE_TOKEN=(\S+)/.exec(text)?.[1];
      expect(token(after.user_data)).toMatch(/^\S{16,}$/);
      expect(token(after.user_data)).not.toBe(token(before.user_data));
      expect(after.user_data).toContain('INGOT_POOL=gpu');
      await until(
        () => statusOf(server, id),
        ({ service }) => service === 'active',
        30_000,
      );
      const status = await statusOf(server, id);
      expect(status).toMatchObject({ presence: 'ready', observed: { state: 'Deployed' } });
      expect(status.conditions.find(({ type }) => type === 'Provisioned')).toMatchObject({
        status: true,
        reason: 'ImageWritten',
      });
      // Out of service while it had no system; never quarantined for it.
      expect(await servicesOf(id)).toEqual(['enrolling', 'active', 'offline', 'active']);
    },
    TIME_LIMIT,
  );

  it('takes the site’s image where none is named, a release by its version, and an image that a user uploaded', {
    tags: ['extended'],
    timeout: TIME_LIMIT,
  }, async () => {
    const { id, mac } = await inService();
    expect(await ended(server, await reimage(id))).toMatchObject({
      status: 'completed',
      params: { image_ref: 'ubuntu/noble' },
    });
    expect(await machineInMaas(site, mac)).toMatchObject({ osystem: 'ubuntu', distro_series: 'noble' });
    // A version is another name of a release: MAAS is given the release's own.
    expect(await ended(server, await reimage(id, 'ubuntu/22.04'))).toMatchObject({ status: 'completed' });
    expect(await machineInMaas(site, mac)).toMatchObject({ osystem: 'ubuntu', distro_series: 'jammy' });
    expect(await ended(server, await reimage(id, 'gpu-node-7'))).toMatchObject({ status: 'completed' });
    expect(await machineInMaas(site, mac)).toMatchObject({
      osystem: 'custom',
      distro_series: 'gpu-node-7',
    });
  });

  it('deploys a machine that MAAS has Ready, which was never onboarded, without an agent', {
    tags: ['extended'],
    timeout: TIME_LIMIT,
  }, async () => {
    const { id, mac } = await newMachine(server);
    await site.simulator.admin.addMachine({ mac_addresses: [mac], status: 'Ready' });
    await inMaintenance(id);
    expect(await ended(server, await reimage(id))).toMatchObject({ status: 'completed' });
    const seen = await machineInMaas(site, mac);
    expect(seen.status_name).toBe('Deployed');
    expect(seen.user_data).not.toContain('INGOT_MACHINE_TOKEN');
    expect(await orders(seen.system_id)).toEqual(['deploy']);
    expect(await statusOf(server, id)).toMatchObject({ service: '', observed: { state: 'Deployed' } });
  });

  it(
    'refuses an image that MAAS does not have before anything is released, and says which it has',
    async () => {
      const { id, mac } = await inService();
      const unknown = await ended(server, await reimage(id, 'ubuntu/warty'));
      expect(unknown).toMatchObject({
        status: 'failed_manual_intervention',
        error: {
          code: 'IMAGE_NOT_FOUND',
          message:
            'site-a has no image ubuntu/warty for amd64/generic; it has ubuntu/focal, ubuntu/jammy, ubuntu/noble, centos/rocky-9, custom/rocky-9, custom/gpu-node-7',
          details: { step: 'netboot' },
        },
      });
      // One of another architecture, one of two systems, and what only boots machines.
      for (const [image, says] of [
        ['ubuntu/oracular', /no image ubuntu\/oracular for amd64/],
        ['rocky-9', /several images of the name rocky-9: centos\/rocky-9, custom\/rocky-9/],
        ['grub-efi-signed/uefi', /no image grub-efi-signed\/uefi/],
      ] as const) {
        const refused = await ended(server, await reimage(id, image));
        expect(refused.error?.code).toBe('IMAGE_NOT_FOUND');
        expect(refused.error?.message).toMatch(says);
      }
      const seen = await machineInMaas(site, mac);
      expect(seen.status_name).toBe('Deployed');
      expect(await orders(seen.system_id)).toEqual(['deploy']);
      expect(await statusOf(server, id)).toMatchObject({ presence: 'ready' });
    },
    TIME_LIMIT,
  );

  it('is refused at the start where it is known to fail', async () => {
    const { id } = await newMachine(server);
    await inMaintenance(id);
    await expect(reimage(id, 'a/b/c')).rejects.toMatchObject({
      code: 'FAILED_PRECONDITION',
      message: expect.stringContaining("can't be the name of an image in a MAAS"),
    });
    await server.machines.updateMachine({
      machine: { machineId: id, spec: { macAddresses: [] } },
      updateMask: { paths: ['spec.mac_addresses'] },
    });
    await expect(reimage(id)).rejects.toThrow(/spec.mac_addresses is empty/);
  });

  it('tries again after a datasource failure, and leaves any other failure of a deployment to a human', {
    tags: ['extended'],
    timeout: TIME_LIMIT,
  }, async () => {
    const { id, mac } = await inService();
    await site.simulator.admin.fault({ fault: 'datasource_failure', mac, times: 2 });
    expect(await ended(server, await reimage(id))).toMatchObject({ status: 'completed' });
    await site.simulator.admin.fault({ fault: 'deployment_failure', mac });
    const failed = await ended(server, await reimage(id));
    expect(failed).toMatchObject({
      status: 'failed_manual_intervention',
      error: { code: 'DEPLOYMENT_FAILED', details: { step: 'repave' } },
    });
    const { conditions } = await statusOf(server, id);
    expect(conditions.find(({ type }) => type === 'Provisioned')).toMatchObject({
      status: false,
      reason: 'ImagingFailed',
    });
    // The next one releases what failed, and deploys.
    expect(await ended(server, await reimage(id))).toMatchObject({ status: 'completed' });
    expect((await machineInMaas(site, mac)).status_name).toBe('Deployed');
  });

  it(
    'a cancel stops the deployment, gives the machine back, and says that it has no system',
    async () => {
      const { id, mac } = await inService();
      // It takes its time, and never comes to its end.
      await site.simulator.admin.fault({ fault: 'datasource_failure', mac, times: null });
      const started = await reimage(id);
      await until(
        () => machineInMaas(site, mac),
        ({ status_name: status }) => status === 'Deploying',
        30_000,
      );
      await server.machines.cancelOperation({ operationId: started.operationId });
      const canceled = await ended(server, started);
      expect(canceled.status).toBe('cancelled');
      const { status_name: status } = await machineInMaas(site, mac);
      expect(status).toBe('Ready');
      await site.simulator.admin.clearFaults(mac);
      const { conditions, presence } = await statusOf(server, id);
      expect(presence).toBe('expired');
      expect(conditions.find(({ type }) => type === 'Provisioned')).toMatchObject({
        status: false,
        reason: 'ImagingCanceled',
        message: expect.stringContaining('the machine has no system'),
      });
      // What MAAS has is no node: it is out of service until it is deployed again.
      await until(
        () => statusOf(server, id),
        ({ service }) => service === 'quarantined',
        30_000,
      );
      expect(await ended(server, await reimage(id))).toMatchObject({ status: 'completed' });
      await until(
        () => statusOf(server, id),
        ({ service }) => service === 'active',
        30_000,
      );
    },
    TIME_LIMIT,
  );

  it(
    'does not touch a machine that a MAAS user deploys meanwhile',
    async () => {
      const { id, mac } = await newMachine(server);
      const { system_id: systemId } = await site.simulator.admin.addMachine({
        mac_addresses: [mac],
        status: 'Deploying',
      });
      await inMaintenance(id);
      expect(await ended(server, await reimage(id))).toMatchObject({
        status: 'failed_manual_intervention',
        error: { code: 'UNEXPECTED_MAAS_STATE', message: 'MAAS says Deploying: another user deploys it' },
      });
      expect(await orders(systemId)).toEqual([]);
    },
    TIME_LIMIT,
  );
});

describe.concurrent('what is not ours', () => {
  it.each([
    ['belongs to alice', { owner: 'alice' }, 'MAAS_MACHINE_OWNED', /belongs to alice in site-a/],
    ['is locked', { locked: true }, 'MAAS_MACHINE_LOCKED', /is locked in site-a/],
  ] as const)(
    'a machine that %s is neither released nor deployed',
    async (_what, fields, code, says) => {
      const { id, mac } = await newMachine(server);
      const { system_id: systemId } = await site.simulator.admin.addMachine({
        mac_addresses: [mac],
        status: 'Deployed',
        power_type: 'ipmi',
        owner: 'ingot',
        ...fields,
      });
      await inMaintenance(id);
      const refused = await ended(server, await reimage(id));
      expect(refused).toMatchObject({
        status: 'failed_manual_intervention',
        error: { code, message: expect.stringMatching(says), details: { step: 'netboot' } },
      });
      expect(await orders(systemId)).toEqual([]);
      // Nor by a plan that goes straight to the image.
      const plan = await newPlan(server, [
        {
          name: 'repave-os',
          timeoutSeconds: 60,
          maxRetries: 0,
          kind: { case: 'repave', value: { image: 'jammy' } },
        },
      ]);
      const { runId } = await startRun(v1Of(server), 'REPAVE', id, { planId: plan.planId });
      expect(await ended(server, { operationId: runId.replace(/^run-/, 'op-') })).toMatchObject({
        error: { code, details: { step: 'repave-os' } },
      });
      expect(await orders(systemId)).toEqual([]);
    },
    TIME_LIMIT,
  );
});

describe.concurrent('without ssh in its configuration', () => {
  it.each([
    ['reboot', { case: 'reboot', value: { mode: 'ssh' } }],
    ['command', { case: 'ssh', value: { command: 'true' } }],
  ] as const)('a %s over SSH is refused at the start', async (_what, kind) => {
    const { id } = await newMachine(server);
    const plan = await newPlan(server, [{ name: 'work', timeoutSeconds: 60, maxRetries: 0, kind }]);
    await expect(startRun(v1Of(server), 'REBOOT', id, { planId: plan.planId })).rejects.toThrow(
      /needs remoteExec, which provider site-a does not have/,
    );
  });
});

describe.concurrent('a REPAVE of the v1 API', () => {
  it('deploys, then reboots the deployed system by switching its power', {
    tags: ['extended'],
    timeout: TIME_LIMIT,
  }, async () => {
    const { id, mac } = await inService();
    const plan = await newPlan(server, [
      {
        name: 'set-netboot',
        timeoutSeconds: 60,
        maxRetries: 0,
        kind: { case: 'netboot', value: { mode: 'PXE' } },
      },
      {
        name: 'repave-os',
        timeoutSeconds: 600,
        maxRetries: 0,
        kind: { case: 'repave', value: { image: 'jammy' } },
      },
      {
        name: 'reboot',
        timeoutSeconds: 60,
        maxRetries: 0,
        kind: { case: 'reboot', value: { mode: 'bmc' } },
      },
    ]);
    const { runId } = await startRun(v1Of(server), 'REPAVE', id, { planId: plan.planId });
    const operationId = `op-${runId.replace(/^(?:op|run)-/, '').toLowerCase()}`;
    const operation = await ended(server, { operationId });
    expect(operation).toMatchObject({ status: 'completed' });
    const seen = await machineInMaas(site, mac);
    expect(seen).toMatchObject({ status_name: 'Deployed', distro_series: 'jammy', power_state: 'on' });
    expect(await orders(seen.system_id)).toEqual(['deploy', 'release', 'deploy', 'power_off', 'power_on']);
    expect((await server.machines.getMachine({ machineId: id })).status?.phase).toBeDefined();
  });

  it('refuses a boot from the network that is for no deployment, at the start', async () => {
    const { id } = await newMachine(server);
    const plan = await newPlan(server, [
      { name: 'boot', timeoutSeconds: 60, maxRetries: 0, kind: { case: 'netboot', value: { mode: 'PXE' } } },
    ]);
    await expect(startRun(v1Of(server), 'REBOOT', id, { planId: plan.planId })).rejects.toThrow(
      /MAAS itself decides what a machine boots from/,
    );
  });
});

async function servicesOf(machineId: string): Promise<string[]> {
  const rows = await server.sql<{ to_state: string }>(
    `SELECT to_state FROM events WHERE kind = 'service' AND machine_id = $1 ORDER BY event_id`,
    [machineId],
  );
  return rows.map((row) => row.to_state);
}
