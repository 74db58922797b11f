/** Failures of work on the hardware of nodes: erasing their disks, replacing it. Each node has its own BMC. */
import { setTimeout as sleep } from 'node:timers/promises';
import { fresh, phaseOf } from '../api/fleet.ts';
import { boot, call, newMac, report } from '../nodes/rest.ts';
import type { TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { type BmcScenarioSite, nodeOf, REFUSES, type Registered, register } from './bmc-scenarios.ts';
import { changedAfterFailure, ended, type Failing, type Scenarios, TIME_LIMIT } from './scenario.ts';

/** An active node whose machine is in maintenance. */
async function activeNode(site: BmcScenarioSite): Promise<Registered> {
  const registered = await register(site);
  const { machineId } = registered;
  await nodeOf(site.server, registered, '', 'active');
  const { operationId } = await site.server.machines.enterMaintenance({ machineId, requestId: fresh('in') });
  const end = await ended(site.server, operationId);
  if (phaseOf(end) !== 'SUCCEEDED') throw new Error(end.error?.message);
  return registered;
}

async function erase({ server }: BmcScenarioSite, { machineId }: Registered): Promise<string> {
  return (await server.admin.eraseMachine({ machineId, requestId: fresh('erase') })).operationId;
}

/** The machine boots until it is served its erasure. */
async function bootsEraser(server: TestServer, { mac }: Registered): Promise<string> {
  const { token } = await until(
    async () => {
      await sleep(300);
      return boot(server, mac);
    },
    (booted) => booted.token !== null,
    TIME_LIMIT,
  );
  await report(server, mac, 'started', {}, token);
  return token ?? '';
}

const DISK = { name: 'nvme0n1', serial: 'S1', method: 'nvme-format', result: 'erased' };

async function erasesItself(server: TestServer, registered: Registered): Promise<void> {
  const token = await bootsEraser(server, registered);
  await report(server, registered.mac, 'complete', { erase: { disks: [DISK] } }, token);
}

export const HARDWARE_SCENARIOS = {
  async ERASE_FAILED(site) {
    const registered = await activeNode(site);
    const operationId = await erase(site, registered);
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const token = await bootsEraser(site.server, registered);
      await report(
        site.server,
        registered.mac,
        'failed',
        { installation_error: 'the drive is locked' },
        token,
      );
    }
    const fix = async () => {
      erasesItself(site.server, registered).catch(() => {});
    };
    return { machineId: registered.machineId, operationId, fix };
  },

  async ERASE_UNPROVEN(site) {
    const registered = await activeNode(site);
    const { machineId } = registered;
    const operationId = await erase(site, registered);
    await bootsEraser(site.server, registered);
    await call(site.server, 'PATCH', `/nodes/${machineId}/state`, { state: 'retired' });
    return { machineId, operationId, fix: async () => {} };
  },

  async HARDWARE_MISMATCH(site) {
    const { machineId } = await activeNode(site);
    const mac = newMac();
    const asked = { macAddresses: [mac], serialNumber: 'RIGHT-1' };
    const request = { machineId, requestId: fresh('migrate'), ...asked };
    const { operationId } = await site.server.admin.migrateMachine(request);
    const reports = (serial: string) => report(site.server, mac, null, { serial_number: serial });
    await until(
      async () => (await call(site.server, 'GET', `/nodes/${machineId}`)).body.data.state,
      (state) => state === 'migrating',
      TIME_LIMIT,
    );
    await reports('WRONG-1');
    return { machineId, operationId, fix: () => reports('right-1') };
  },

  async WRONG_INSTALL_STATE(site): Promise<Failing> {
    const registered = await activeNode(site);
    const { machineId, bmc } = registered;
    const becomes = (state: string) =>
      site.server.sql('UPDATE machines SET install = $2 WHERE machine_id = $1', [machineId, state]);
    site.ipmitool.answer(bmc.endpoint, REFUSES);
    const operationId = await erase(site, registered);
    await changedAfterFailure(site.server, operationId, async () => {
      site.ipmitool.repair(bmc.endpoint);
      await becomes('reprovision');
    });
    const fix = async () => {
      await becomes('active');
      erasesItself(site.server, registered).catch(() => {});
    };
    return { machineId, operationId, fix };
  },
} as const satisfies Scenarios<BmcScenarioSite>;
