/** A server with a MAAS, and machines that it onboards. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DecommissionMode } from '../../src/domain/workflow/stage.ts';
import {
  DecommissionMode_Value,
  OperatorAction_Value,
} from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import type { Operation } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { maasConfiguration } from '../../src/providers/maas/maas-configuration.ts';
import { type MaasSimulator, type SimMachineDetails, startMaasSimulator } from '../parts/maas/simulator.ts';
import { startTestServer, type TestServer, type TestServerOptions } from '../parts/server.ts';
import { until } from '../parts/until.ts';

const SPEED = 3000;
const KEEPALIVE_MS = 2_000;

export interface MaasSite {
  readonly simulator: MaasSimulator;
  /** For a provider of any name. */
  readonly configuration: NonNullable<TestServerOptions['providers']>[string];
  readonly providers: NonNullable<TestServerOptions['providers']>;
  readonly bmcPassword: string;
  stop(): Promise<void>;
}

export interface SiteOptions {
  readonly speed?: number;
  /** How often agents report; each report costs the server a call. */
  readonly keepaliveMs?: number;
  readonly waits?: {
    readonly hardware_sync_seconds?: number;
    readonly agent_seconds?: number;
    readonly power_off_seconds?: number;
  };
  readonly ssh?: { readonly user: string; readonly private_key_file: string };
}

export async function openMaasSite(options: SiteOptions = {}): Promise<MaasSite> {
  const simulator = await startMaasSimulator({
    speed: options.speed ?? SPEED,
    minKeepaliveMs: options.keepaliveMs ?? KEEPALIVE_MS,
  });
  const folder = mkdtempSync(join(tmpdir(), 'ingot-maas-site-'));
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const bmcPassword = 'not-for-the-log';
  const configuration = maasConfiguration.parse({
    kind: 'maas',
    url: simulator.url,
    api_key_file: file('api-key', simulator.apiKey),
    power: { type: 'ipmi', user: 'admin', password_file: file('password', bmcPassword) },
    request_timeout_seconds: 10,
    waits: options.waits ?? {},
    ...(options.ssh ? { ssh: options.ssh } : {}),
  });
  return {
    simulator,
    configuration,
    providers: { 'site-a': configuration },
    bmcPassword,
    stop: async () => {
      await simulator.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The simulator's clock is fast, and so is the repetition of what was not carried out. */
const REPEAT_ACT_MS = 500;
const MAX_PROBE_MS = 100;

export function startMaasServer(site: MaasSite, options: TestServerOptions = {}): Promise<TestServer> {
  return startTestServer({
    providers: site.providers,
    pools: ['gpu'],
    repeatActMs: REPEAT_ACT_MS,
    maxProbeMs: MAX_PROBE_MS,
    ...options,
  });
}

let count = 0;

export function newMac(): string {
  count += 1;
  const hex = (value: number) => value.toString(16).padStart(2, '0');
  return `52:54:01:${hex((count >> 16) & 255)}:${hex((count >> 8) & 255)}:${hex(count & 255)}`;
}

/** No two machines have one BMC. */
export function bmcOf(mac: string): string {
  return `10.${mac
    .split(':')
    .slice(3)
    .map((pair) => Number.parseInt(pair, 16))
    .join('.')}`;
}

interface NewMachine {
  readonly provider?: string;
  readonly mac?: string;
  readonly sshEndpoint?: string;
  readonly targetClusterRef?: string;
}

export async function newMachine(
  server: TestServer,
  { provider = 'site-a', mac = newMac(), ...spec }: NewMachine = {},
): Promise<{ id: string; mac: string }> {
  const id = `gpu-${mac.replaceAll(':', '')}`;
  await server.machines.registerMachine({
    machine: { machineId: id, spec: { provider, bmcEndpoint: bmcOf(mac), macAddresses: [mac], ...spec } },
  });
  return { id, mac };
}

let requests = 0;
export function requestId(): string {
  requests += 1;
  return `maas-${requests}`;
}

export function onboard(server: TestServer, machineId: string): Promise<Operation> {
  return server.admin.onboardMachine({ machineId, pool: 'gpu', requestId: requestId() });
}

export function ended(server: TestServer, { operationId }: { operationId: string }): Promise<Operation> {
  return until(
    () => server.operations.getOperation({ operationId }),
    ({ finishedAt }) => finishedAt !== undefined,
    120_000,
  );
}

export async function statusOf(server: TestServer, machineId: string) {
  const { status } = await server.machines.getMachine({ machineId });
  if (!status) throw new Error('a machine has a status');
  return status;
}

/** Onboarded and in service. `commissioned`: MAAS knows it and has commissioned it before. */
export async function machineInService(
  server: TestServer,
  { commissioned, ...request }: NewMachine & { readonly commissioned?: MaasSite } = {},
): Promise<{ id: string; mac: string }> {
  const machine = await newMachine(server, request);
  await commissioned?.simulator.admin.addMachine({ mac_addresses: [machine.mac], status: 'Ready' });
  const operation = await ended(server, await onboard(server, machine.id));
  if (operation.status !== 'completed') throw new Error(`not onboarded: ${operation.error?.message}`);
  return machine;
}

export function decommission(
  server: TestServer,
  machineId: string,
  mode: DecommissionMode,
): Promise<Operation> {
  const value = DecommissionMode_Value[mode.toUpperCase() as keyof typeof DecommissionMode_Value];
  return server.admin.decommissionMachine({ machineId, requestId: requestId(), mode: value });
}

export function act(
  server: TestServer,
  { operationId }: { operationId: string },
  action: keyof typeof OperatorAction_Value,
): Promise<unknown> {
  const reason = 'the cause is fixed';
  return server.admin.actOnOperation({ operationId, action: OperatorAction_Value[action], reason });
}

export async function machineInMaas({ simulator }: MaasSite, mac: string): Promise<SimMachineDetails> {
  const known = await simulator.admin.machines();
  const found = known.find(({ mac_addresses: macs }) => macs.includes(mac));
  if (!found) throw new Error(`MAAS has no machine ${mac}`);
  return simulator.admin.machine(found.system_id);
}
