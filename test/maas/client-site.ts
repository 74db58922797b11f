/** A client of a simulated MAAS, and machines in it. */
import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { MaasControl, MaasMachine, MaasStatus } from '../../src/providers/maas/client/maas-control.ts';
import { type MaasSimulator, startMaasSimulator } from '../parts/maas/simulator.ts';
import { until } from '../parts/until.ts';
import { callFor, maasAt, machineWith, type TestMaas } from './call.ts';

export const SPEED = 3000;

export let simulator: MaasSimulator;

export let site: TestMaas;

export let maas: MaasControl;

let lastMac = 0;

export const newMac = () => `52:54:00:00:${hex(++lastMac >> 8)}:${hex(lastMac & 255)}`;

const hex = (value: number) => value.toString(16).padStart(2, '0');

export const call = callFor();

export const DEPLOYMENT = {
  userData: '#cloud-config\n{}\n',
  osystem: 'ubuntu',
  distroSeries: 'noble',
  enableHardwareSync: true,
} as const;

export const PLAIN_RELEASE = {
  erase: false,
  secureErase: false,
  quickErase: false,
  comment: 'done with it',
} as const;

export async function create(mac = newMac()): Promise<MaasMachine> {
  return maas.create(call, {
    hostname: `node-${lastMac}`,
    architecture: 'amd64/generic',
    macAddresses: [mac],
    ...(await maas.site.resolvePower(machineWith({ bmc_endpoint: '10.0.0.7' }), call.signal)),
  });
}

export async function seen(systemId: string): Promise<MaasMachine> {
  const machine = await maas.read(call, systemId);
  if (!machine) throw new Error(`${systemId} is gone`);
  return machine;
}

export async function untilStatus(systemId: string, status: MaasStatus): Promise<MaasMachine> {
  return until(
    () => seen(systemId),
    (machine) => machine.status === status,
  );
}

export async function at(status: string, mac = newMac()): Promise<string> {
  return (await simulator.admin.addMachine({ mac_addresses: [mac], status })).system_id;
}

export function setUpClientSite(): void {
  beforeAll(async () => {
    simulator = await startMaasSimulator({ speed: SPEED, minKeepaliveMs: 50 });
    site = maasAt(simulator);
    maas = site.maas;
  });
  afterAll(async () => {
    site.remove();
    await simulator.stop();
  });
  beforeEach(() => simulator.admin.clearFaults());
}
