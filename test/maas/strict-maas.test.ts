// @module-tag extended: client.test.ts has refusals of MAAS; onboarding.test.ts the workflow.
/** Workflows against a MAAS that behaves as its source says: owners, locks, power, places. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Operation } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { refusal } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import {
  act,
  bmcOf,
  decommission,
  ended,
  machineInMaas,
  newMac,
  newMachine,
  onboard,
  statusOf,
} from './fleet.ts';
import {
  inService,
  logOf,
  messageOf,
  opsOn,
  server,
  setUpStrictSite,
  site,
  TIME_LIMIT,
} from './strict-site.ts';

setUpStrictSite();

// Each has its own machine, and faults are set per machine: they can run concurrently.
describe.concurrent('a MAAS', () => {
  describe('machines that MAAS found by itself', () => {
    it(
      'get the power parameters that MAAS does not have, and no answer contains them',
      async () => {
        const { id, mac } = await newMachine(server);
        await site.simulator.admin.addMachine({ mac_addresses: [mac] });
        const operation = await ended(server, await onboard(server, id));
        expect(operation).toMatchObject({ status: 'completed' });
        expect(await machineInMaas(site, mac)).toMatchObject({
          power_type: 'ipmi',
          power_parameters: { power_address: bmcOf(mac), power_user: 'admin', power_pass: site.bmcPassword },
        });
        const log = await logOf(operation.operationId);
        expect(log).toContain('power ipmi');
        expect([log, ...operation.steps.map(({ message }) => message)].join('')).not.toContain(
          site.bmcPassword,
        );
        expect(server.logged.join('')).not.toContain(site.bmcPassword);
      },
      TIME_LIMIT,
    );

    it('keep a power type that a user has set, but for manual where the site has a better one', {
      tags: ['extended'],
      timeout: TIME_LIMIT,
    }, async () => {
      const [redfish, manual] = [await newMachine(server), await newMachine(server)];
      const { admin } = site.simulator;
      await admin.addMachine({ mac_addresses: [redfish.mac], status: 'Ready', power_type: 'redfish' });
      await admin.addMachine({ mac_addresses: [manual.mac], status: 'Ready', power_type: 'manual' });
      const operations = await Promise.all([redfish, manual].map(({ id }) => onboard(server, id)));
      for (const operation of operations)
        expect(await ended(server, operation)).toMatchObject({ status: 'completed' });
      expect((await machineInMaas(site, redfish.mac)).power_type).toBe('redfish');
      expect((await machineInMaas(site, manual.mac)).power_type).toBe('ipmi');
    });

    it('have their address on a bond where their boot interface is part of one', {
      tags: ['extended'],
      timeout: TIME_LIMIT,
    }, async () => {
      const mac = newMac();
      const id = `bond-${mac.replaceAll(':', '')}`;
      const spec = { provider: 'site-a', bmcEndpoint: bmcOf(mac), macAddresses: [mac] };
      await server.machines.registerMachine({ machine: { machineId: id, spec } });
      await site.simulator.admin.addMachine({
        ...{ mac_addresses: [mac, newMac()], status: 'Ready', bond: true },
      });
      const operation = await ended(server, await onboard(server, id));
      expect(operation).toMatchObject({ status: 'completed' });
      expect(messageOf(operation, 'ensure_pxe_interface_auto')).toBe('bond0 (with eth0) is AUTO');
    });
  });

  it('two machines whose ids make one hostname both have a record', {
    tags: ['extended'],
    timeout: TIME_LIMIT,
  }, async () => {
    const [plain, other] = [newMac(), newMac()];
    const ids = [`same-${plain.slice(-2)}.x`, `same-${plain.slice(-2)}_x`];
    const operations: Operation[] = [];
    for (const [index, mac] of [plain, other].entries()) {
      const spec = { provider: 'site-a', bmcEndpoint: bmcOf(mac), macAddresses: [mac] };
      const machineId = ids[index] ?? '';
      await server.machines.registerMachine({ machine: { machineId, spec } });
      operations.push(await onboard(server, machineId));
      await until(
        () => machineInMaas(site, mac).catch(() => null),
        (found) => found !== null,
      );
    }
    for (const operation of operations)
      expect(await ended(server, operation)).toMatchObject({ status: 'completed' });
    const { hostname } = await machineInMaas(site, plain);
    expect((await machineInMaas(site, other)).hostname).toBe(
      `${hostname}-${other.replaceAll(':', '').slice(-6)}`,
    );
  });

  describe('what another user has, or has locked', () => {
    it(
      'is not deployed: the operation names the owner',
      async () => {
        const { id, mac } = await newMachine(server);
        const { admin } = site.simulator;
        const { system_id: systemId } = await admin.addMachine({
          ...{ mac_addresses: [mac], status: 'Allocated', owner: 'alice' },
        });
        const operation = await ended(server, await onboard(server, id));
        expect(operation).toMatchObject({
          status: 'failed_manual_intervention',
          error: {
            code: 'MAAS_MACHINE_OWNED',
            message: expect.stringContaining('belongs to alice'),
            details: { step: 'deploy_via_maas', failure_class: 'needs_human' },
          },
        });
        expect(await opsOn(systemId)).toEqual([]);
        expect(await statusOf(server, id)).toMatchObject({ service: 'quarantined' });
        const { obstacles } = await server.admin.explainMachine({ machineId: id });
        expect(obstacles[0]).toMatchObject({ action: 'rerun', who: 'upstream' });
      },
      TIME_LIMIT,
    );

    it(
      'is not released, and its agent keeps its token',
      async () => {
        const { id, mac } = await inService();
        const { system_id: systemId } = await machineInMaas(site, mac);
        await site.simulator.admin.changeMachine(systemId, { owner: 'alice' });
        const before = await opsOn(systemId);
        const operation = await ended(server, await decommission(server, id, 'full_decommission'));
        expect(operation).toMatchObject({
          status: 'failed_manual_intervention',
          error: { code: 'MAAS_MACHINE_OWNED', details: { step: 'release_maas_node' } },
        });
        expect(await opsOn(systemId)).toEqual(before);
        expect(await machineInMaas(site, mac)).toMatchObject({ status_name: 'Deployed', owner: 'alice' });
        expect(await statusOf(server, id)).toMatchObject({ presence: 'ready' });
      },
      TIME_LIMIT,
    );

    it(
      'is locked: nothing is sent, and it goes on once it is unlocked',
      async () => {
        const { id, mac } = await inService();
        const { system_id: systemId } = await machineInMaas(site, mac);
        await site.simulator.admin.changeMachine(systemId, { locked: true });
        const before = await opsOn(systemId);
        const operation = await ended(server, await decommission(server, id, 'reimage'));
        expect(operation).toMatchObject({
          status: 'failed_manual_intervention',
          error: {
            code: 'MAAS_MACHINE_LOCKED',
            message: expect.stringContaining('is locked in site-a (it belongs to ingot)'),
          },
        });
        expect(await opsOn(systemId)).toEqual(before);
        await site.simulator.admin.changeMachine(systemId, { locked: false });
        await act(server, operation, 'RETRY_STAGE');
        expect(await ended(server, operation)).toMatchObject({ status: 'completed' });
        expect(await machineInMaas(site, mac)).toMatchObject({ status_name: 'Ready', owner: null });
      },
      TIME_LIMIT,
    );
  });

  describe('sites where people switch the power', () => {
    it('are finished: what waits for an operator says so, and what is unknown is not claimed', {
      tags: ['extended'],
      timeout: TIME_LIMIT,
    }, async () => {
      const { id, mac } = await newMachine(server, { provider: 'by-hand' });
      const waits = new Set<string>();
      const byHand = async (operation: Operation) => {
        for (;;) {
          const now = await server.operations.getOperation({ operationId: operation.operationId });
          for (const { message } of now.steps) waits.add(message);
          if (now.finishedAt !== undefined) return now;
          const found = await machineInMaas(site, mac).catch(() => null);
          if (['Commissioning', 'Deploying', 'Disk erasing'].includes(found?.status_name ?? '')) {
            // Long enough for the operation to have observed it.
            await sleep(150);
            await site.simulator.admin.changeMachine(found?.system_id ?? '', { boot: true });
          }
          await sleep(50);
        }
      };
      expect(await byHand(await onboard(server, id))).toMatchObject({ status: 'completed' });
      expect(await machineInMaas(site, mac)).toMatchObject({ power_type: 'manual', power_state: 'on' });
      const gone = await byHand(await decommission(server, id, 'full_decommission'));
      expect(gone).toMatchObject({ status: 'completed' });
      expect(messageOf(gone, 'power_off_maas_node')).toBe(
        'people switch its power (manual); switch it off by hand',
      );
      expect(messageOf(gone, 'release_maas_node')).toContain('what ran on it may still run');
      expect(await logOf(gone.operationId)).toContain('switch it off by hand');
      expect(await statusOf(server, id)).toMatchObject({ service: 'deleted' });
    });
  });

  describe('creation', () => {
    it('takes pool, zone, tags, commissioning options and kernel from the site, and labels instead', {
      tags: ['extended'],
      timeout: TIME_LIMIT,
    }, async () => {
      const mac = newMac();
      const id = `placed-${mac.replaceAll(':', '')}`;
      const spec = { provider: 'placed', bmcEndpoint: bmcOf(mac), macAddresses: [mac] };
      const labels = {
        'maas/pool': 'lab',
        'maas/domain': 'gpu.example.com',
        'maas/commissioning-scripts': 'update_firmware',
        'maas/hwe-kernel': 'hwe-24.04',
      };
      await server.machines.registerMachine({ machine: { machineId: id, spec, labels } });
      const started = await onboard(server, id);
      const change = { machineId: id, labels: { ...labels, 'maas/pool': 'gpu' } };
      const changed = server.machines.updateMachine({ machine: change, updateMask: { paths: ['labels'] } });
      expect(await refusal(changed)).toMatchObject({ code: 'FAILED_PRECONDITION' });
      expect(await ended(server, started)).toMatchObject({ status: 'completed' });
      expect(await machineInMaas(site, mac)).toMatchObject({
        pool: 'lab',
        zone: 'rack-1',
        domain: 'gpu.example.com',
        tags: ['ingot', 'new-tag'],
        min_hwe_kernel: 'ga-24.04',
        hwe_kernel: 'hwe-24.04',
        commissioning: {
          skipBmcConfig: true,
          skipNetworking: false,
          commissioningScripts: ['update_firmware'],
          testingScripts: ['smartctl-validate'],
        },
      });
    });

    it('moves a machine that was found and is not in use to where it belongs', {
      tags: ['extended'],
      timeout: TIME_LIMIT,
    }, async () => {
      const { id, mac } = await newMachine(server, { provider: 'placed' });
      await site.simulator.admin.addMachine({ mac_addresses: [mac] });
      expect(await ended(server, await onboard(server, id))).toMatchObject({ status: 'completed' });
      expect(await machineInMaas(site, mac)).toMatchObject({
        pool: 'gpu',
        zone: 'rack-1',
        power_type: 'ipmi',
      });
    });

    it(
      'says in MAAS’ words what MAAS does not have, and refuses labels that make no sense',
      async () => {
        const mac = newMac();
        const spec = { provider: 'site-a', bmcEndpoint: bmcOf(mac), macAddresses: [mac] };
        const register = (labels: Record<string, string>) =>
          server.machines.registerMachine({ machine: { machineId: 'astray', spec, labels } });
        expect(await refusal(register({ 'maas/pool': 'no/where' }))).toMatchObject({
          code: 'INVALID_ARGUMENT',
        });
        expect(await refusal(register({ 'maas/poool': 'gpu' }))).toMatchObject({ code: 'INVALID_ARGUMENT' });
        await register({ 'maas/pool': 'nowhere' });
        const operation = await ended(server, await onboard(server, 'astray'));
        expect(operation).toMatchObject({
          status: 'failed_manual_intervention',
          error: { code: 'MAAS_REFUSED', message: expect.stringContaining('"pool"') },
        });
      },
      TIME_LIMIT,
    );
  });
});

/** Not concurrent: these settings apply to all machines of the site. */
describe('a MAAS as a whole', () => {
  it('that erases at every release by its own settings is reported so', {
    tags: ['extended'],
    timeout: TIME_LIMIT,
  }, async () => {
    const { id, mac } = await inService();
    const { admin } = site.simulator;
    // Its power off fails, too: of a release that can't be aborted.
    await admin.fault({ fault: 'power_off_failure', mac });
    await admin.changeSite({
      settings: {
        enable_disk_erasing_on_release: true,
        disk_erase_with_secure_erase: false,
        disk_erase_with_quick_erase: true,
      },
    });
    const operation = await ended(server, await decommission(server, id, 'reimage'));
    await admin.changeSite({ settings: { enable_disk_erasing_on_release: false } });
    expect((await opsOn((await machineInMaas(site, mac)).system_id)).slice(-2)).toEqual([
      'release',
      'power_off',
    ]);
    expect(messageOf(operation, 'release_maas_node')).toBe(
      'MAAS says Ready; MAAS erased the disks (only 2 MiB at the start and the end of each); it does so at every release, as its own settings say, which are not what was asked for',
    );
  });

  it('that does not know our user as an administrator says nothing, and we say what that may mean', {
    tags: ['extended'],
    timeout: TIME_LIMIT,
  }, async () => {
    const { id, mac } = await newMachine(server);
    await site.simulator.admin.addMachine({ mac_addresses: [mac], power_type: 'ipmi' });
    await site.simulator.admin.changeSite({ user: { username: 'ingot', isAdmin: false } });
    const operation = await ended(server, await onboard(server, id));
    await site.simulator.admin.changeSite({ user: { username: 'ingot', isAdmin: true } });
    expect(operation).toMatchObject({
      status: 'failed_manual_intervention',
      error: { code: 'MAAS_FORBIDDEN', message: expect.stringContaining('no administrator') },
    });
    await act(server, operation, 'RETRY_STAGE');
    expect(await ended(server, operation)).toMatchObject({ status: 'completed' });
  });
});
