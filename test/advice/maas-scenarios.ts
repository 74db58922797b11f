/** Failures between the server and a MAAS, and of the workflows through it. Each has its own provider: breakers are per provider. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FAILURE_CODES, type FailureCode } from '../../src/domain/error/failure-code.ts';
import { DecommissionMode_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { maasConfiguration } from '../../src/providers/maas/maas-configuration.ts';
import { newMac, onboard, requestId } from '../maas/fleet.ts';
import type { FaultInput } from '../parts/maas/faults.ts';
import { type MaasSimulator, startMaasSimulator } from '../parts/maas/simulator.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import {
  act,
  ended,
  type Failing,
  runOf,
  type Scenarios,
  SHORT_SECONDS,
  step,
  TIME_LIMIT,
} from './scenario.ts';
import { startTlsRelay, type TlsRelay } from './tls-relay.ts';

export interface MaasScenarioSite {
  readonly server: TestServer;
  readonly simulator: MaasSimulator;
  readonly relay: TlsRelay;
  readonly file: (code: FailureCode, name: string) => string;
  stop(): Promise<void>;
}

const providerOf = (code: FailureCode) => code.toLowerCase().replaceAll('_', '-');

export async function openMaasScenarioSite(): Promise<MaasScenarioSite> {
  const simulator = await startMaasSimulator({ speed: 3000, minKeepaliveMs: 300 });
  const folder = mkdtempSync(join(tmpdir(), 'ingot-advice-maas-'));
  const relay = await startTlsRelay(new URL(simulator.url), folder);
  const file = (code: FailureCode, name: string) => join(folder, `${code}.${name}`);
  const configurationFor = (code: FailureCode) => {
    writeFileSync(file(code, 'key'), simulator.apiKey);
    writeFileSync(file(code, 'password'), 'not-for-the-log');
    return maasConfiguration.parse({
      kind: 'maas',
      url: simulator.url,
      api_key_file: file(code, 'key'),
      power: { type: 'ipmi', user: 'admin', password_file: file(code, 'password') },
      ...SETTINGS[code],
      ...(code === 'MAAS_CERTIFICATE_INVALID' && { url: relay.url, ca_file: relay.caFile }),
    });
  };
  const providers = Object.fromEntries(
    FAILURE_CODES.filter((code) => code in MAAS_SCENARIOS).map((code) => [
      providerOf(code),
      configurationFor(code),
    ]),
  );
  const server = await startTestServer({ providers, pools: ['gpu'], probes: { intervalSeconds: 3 } });
  return {
    server,
    simulator,
    relay,
    file,
    stop: async () => {
      await server.stop();
      await relay.stop();
      await simulator.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const SETTINGS: Partial<Record<FailureCode, Readonly<Record<string, unknown>>>> = {
  HARDWARE_SYNC_FAILED: { waits: { hardware_sync_seconds: 1 } },
  AGENT_NEVER_ENROLLED: { waits: { agent_seconds: 1 } },
  // Longer than a request takes on a busy host, and shorter than the slow one that is ahead.
  MAAS_BUSY: { concurrency: 1, queue_timeout_seconds: 1 },
};

interface Registered {
  readonly machineId: string;
  readonly mac: string;
}

async function register({ server }: MaasScenarioSite, code: FailureCode): Promise<Registered> {
  const mac = newMac();
  const machineId = `m-${mac.replaceAll(':', '')}`;
  const spec = { provider: providerOf(code), bmcEndpoint: addressOf(mac), macAddresses: [mac] };
  await server.machines.registerMachine({ machine: { machineId, spec } });
  return { machineId, mac };
}

/** No two machines share a BMC. */
function addressOf(mac: string): string {
  const [a = 0, b = 0, c = 0] = mac
    .split(':')
    .slice(3)
    .map((part) => Number.parseInt(part, 16));
  return `10.${a}.${b}.${c}`;
}

const REBOOT = step({ case: 'reboot', value: { mode: 'bmc' } });
const SHORT_REBOOT = step({ case: 'reboot', value: { mode: 'bmc' } }, 2 * SHORT_SECONDS);

async function systemIdOf({ simulator }: MaasScenarioSite, mac: string): Promise<string> {
  const found = (await simulator.admin.machines()).find(({ mac_addresses: macs }) => macs.includes(mac));
  if (!found) throw new Error(`the simulator has no machine ${mac}`);
  return found.system_id;
}

/** A reboot of a machine that is deployed, with what the simulator does wrong about it. */
async function rebootWith(
  site: MaasScenarioSite,
  code: FailureCode,
  fault: Omit<FaultInput, 'mac' | 'times'>,
  reboot = REBOOT,
): Promise<Failing> {
  const { machineId, mac } = await register(site, code);
  await site.simulator.admin.addMachine({ mac_addresses: [mac], status: 'Deployed' });
  await site.simulator.admin.fault({ ...fault, mac, times: null });
  const operationId = await runOf(site.server, machineId, reboot);
  return { machineId, operationId, fix: () => site.simulator.admin.clearFaults(mac) };
}

/** An onboarding, with what the simulator does wrong about it. */
async function onboardWith(
  site: MaasScenarioSite,
  code: FailureCode,
  fault: Omit<FaultInput, 'mac' | 'times'>,
): Promise<Failing & Registered> {
  const registered = await register(site, code);
  await site.simulator.admin.fault({ ...fault, mac: registered.mac, times: null });
  const { operationId } = await onboard(site.server, registered.machineId);
  return { ...registered, operationId, fix: () => site.simulator.admin.clearFaults(registered.mac) };
}

/** An onboarding that finds its machine in a state. */
async function onboardAt(site: MaasScenarioSite, code: FailureCode, status: string) {
  const registered = await register(site, code);
  await site.simulator.admin.addMachine({ mac_addresses: [registered.mac], status });
  const { operationId } = await onboard(site.server, registered.machineId);
  return { ...registered, operationId };
}

const inState = async (site: MaasScenarioSite, mac: string, status: string) =>
  site.simulator.admin.changeMachine(await systemIdOf(site, mac), { status });

export const MAAS_SCENARIOS = {
  async MAAS_UNAUTHORIZED(site) {
    const code = 'MAAS_UNAUTHORIZED';
    writeFileSync(site.file(code, 'key'), 'not:the:key');
    const { machineId, mac } = await register(site, code);
    await site.simulator.admin.addMachine({ mac_addresses: [mac], status: 'Deployed' });
    const operationId = await runOf(site.server, machineId, REBOOT);
    const fix = async () => writeFileSync(site.file(code, 'key'), site.simulator.apiKey);
    return { machineId, operationId, fix };
  },

  async CREDENTIAL_UNREADABLE(site) {
    const code = 'CREDENTIAL_UNREADABLE';
    const { machineId, mac } = await register(site, code);
    await site.simulator.admin.addMachine({ mac_addresses: [mac], status: 'Deployed' });
    rmSync(site.file(code, 'key'));
    const operationId = await runOf(site.server, machineId, REBOOT);
    const fix = async () => writeFileSync(site.file(code, 'key'), site.simulator.apiKey);
    return { machineId, operationId, fix };
  },

  async MAAS_CERTIFICATE_INVALID(site) {
    const { machineId, mac } = await register(site, 'MAAS_CERTIFICATE_INVALID');
    await site.simulator.admin.addMachine({ mac_addresses: [mac], status: 'Deployed' });
    site.relay.show('stranger');
    const operationId = await runOf(site.server, machineId, REBOOT);
    return { machineId, operationId, fix: async () => site.relay.show('itself') };
  },

  MAAS_FORBIDDEN: (site) => rebootWith(site, 'MAAS_FORBIDDEN', { fault: 'forbidden' }),
  MAAS_NOT_FOUND: (site) => rebootWith(site, 'MAAS_NOT_FOUND', { fault: 'not_found' }),
  MAAS_CONFLICT: (site) => rebootWith(site, 'MAAS_CONFLICT', { fault: 'conflict' }),
  MAAS_UNAVAILABLE: (site) => rebootWith(site, 'MAAS_UNAVAILABLE', { fault: 'unavailable' }, SHORT_REBOOT),
  MAAS_REFUSED: (site) => rebootWith(site, 'MAAS_REFUSED', { fault: 'redirect' }),
  MAAS_ANSWER_TOO_LARGE: (site) => rebootWith(site, 'MAAS_ANSWER_TOO_LARGE', { fault: 'flood' }),
  MAAS_ANSWER_UNREADABLE: (site) => rebootWith(site, 'MAAS_ANSWER_UNREADABLE', { fault: 'truncate_quietly' }),
  MAAS_ANSWER_UNKNOWN: (site) => rebootWith(site, 'MAAS_ANSWER_UNKNOWN', { fault: 'strange' }),
  MAAS_POWER_UNKNOWN: (site) => rebootWith(site, 'MAAS_POWER_UNKNOWN', { fault: 'bmc_silent' }, SHORT_REBOOT),

  async MAAS_ANSWER_LOST(site) {
    const { machineId, mac } = await register(site, 'MAAS_ANSWER_LOST');
    await site.simulator.admin.addMachine({ mac_addresses: [mac], status: 'Deployed' });
    await site.simulator.admin.fault({ fault: 'truncate', op: 'power_off', mac, times: null });
    const shutDown = step({ case: 'rma', value: { action: 'graceful-shutdown' } }, SHORT_SECONDS);
    const operationId = await runOf(site.server, machineId, shutDown);
    return { machineId, operationId, fix: () => site.simulator.admin.clearFaults(mac) };
  },

  async MAAS_BUSY(site) {
    const code = 'MAAS_BUSY';
    // One request at a time, and another machine's takes long.
    const slow = await rebootWith(site, code, { fault: 'slow', ms: 45_000 });
    await until(
      () => site.simulator.admin.requests(),
      (requests) => requests.some(({ query }) => query.includes(encodeURIComponent(macOf(slow)))),
      TIME_LIMIT,
    );
    // Long enough for the try after it on a slow host, and shorter than the other machine's request.
    const patient = step({ case: 'reboot', value: { mode: 'bmc' } }, 4 * SHORT_SECONDS);
    const failing = await rebootWith(site, code, { fault: 'slow', ms: 0 }, patient);
    await ended(site.server, failing.operationId);
    const fix = async () => {
      await site.simulator.admin.clearFaults(macOf(slow));
      await act(site.server, slow.operationId, 'cancel');
      await ended(site.server, slow.operationId);
    };
    return { ...failing, fix };
  },

  async MAAS_NOT_DEPLOYED(site) {
    const { machineId, mac } = await register(site, 'MAAS_NOT_DEPLOYED');
    await site.simulator.admin.addMachine({ mac_addresses: [mac], status: 'Ready' });
    const operationId = await runOf(site.server, machineId, REBOOT);
    return { machineId, operationId, fix: () => inState(site, mac, 'Deployed') };
  },

  async MAAS_MACHINE_MISSING(site) {
    const { machineId, mac } = await register(site, 'MAAS_MACHINE_MISSING');
    const operationId = await runOf(site.server, machineId, REBOOT);
    const fix = () => site.simulator.admin.addMachine({ mac_addresses: [mac], status: 'Deployed' });
    return { machineId, operationId, fix };
  },

  async MAAS_MACHINE_AMBIGUOUS(site) {
    const { machineId, mac } = await register(site, 'MAAS_MACHINE_AMBIGUOUS');
    const { admin } = site.simulator;
    await admin.addMachine({ mac_addresses: [mac], status: 'Deployed' });
    const other = await admin.addMachine({ mac_addresses: [mac], status: 'New' });
    const operationId = await runOf(site.server, machineId, REBOOT);
    return { machineId, operationId, fix: () => admin.removeMachine(other.system_id) };
  },

  MAAS_SUBNET_UNKNOWN: (site) => onboardWith(site, 'MAAS_SUBNET_UNKNOWN', { fault: 'no_subnet' }),

  async CONFLICTING_CANDIDATES(site) {
    const { machineId, mac } = await register(site, 'CONFLICTING_CANDIDATES');
    const { admin } = site.simulator;
    await admin.addMachine({ mac_addresses: [mac] });
    const other = await admin.addMachine({ mac_addresses: [mac] });
    const { operationId } = await onboard(site.server, machineId);
    return { machineId, operationId, fix: () => admin.removeMachine(other.system_id) };
  },

  MACHINE_GONE: (site) => onboardWith(site, 'MACHINE_GONE', { fault: 'deleted_midway', during: 'Deploying' }),
  COMMISSIONING_FAILED: (site) =>
    onboardWith(site, 'COMMISSIONING_FAILED', { fault: 'commissioning_failure' }),
  PXE_NOT_FIXABLE: (site) => onboardWith(site, 'PXE_NOT_FIXABLE', { fault: 'pxe_stays_wrong' }),
  DEPLOYMENT_FAILED: (site) => onboardWith(site, 'DEPLOYMENT_FAILED', { fault: 'deployment_failure' }),
  DATASOURCE_FAILED: (site) => onboardWith(site, 'DATASOURCE_FAILED', { fault: 'datasource_failure' }),

  async HARDWARE_SYNC_FAILED(site) {
    const started = await onboardWith(site, 'HARDWARE_SYNC_FAILED', { fault: 'hardware_sync_failing' });
    // With an agent, what is observed would be adopted before the test reads the advice.
    await site.simulator.admin.fault({ fault: 'agent_never_enrols', mac: started.mac, times: null });
    const fix = async () => {
      await started.fix();
      await inState(site, started.mac, 'Deployed');
    };
    return { ...started, fix };
  },

  async BROKEN(site) {
    const started = await onboardAt(site, 'BROKEN', 'Broken');
    return { ...started, fix: () => inState(site, started.mac, 'Ready') };
  },

  async FAILED_TESTING(site) {
    const started = await onboardWith(site, 'FAILED_TESTING', { fault: 'testing_failure' });
    return { ...started, fix: async () => {} };
  },

  async MAAS_MACHINE_OWNED(site) {
    const { machineId, mac } = await register(site, 'MAAS_MACHINE_OWNED');
    const { admin } = site.simulator;
    await admin.addMachine({ mac_addresses: [mac], status: 'Allocated', owner: 'alice' });
    const { operationId } = await onboard(site.server, machineId);
    return { machineId, operationId, fix: () => inState(site, mac, 'Ready') };
  },

  async MAAS_MACHINE_LOCKED(site) {
    const { machineId, mac } = await register(site, 'MAAS_MACHINE_LOCKED');
    const { admin } = site.simulator;
    const { system_id: id } = await admin.addMachine({
      ...{ mac_addresses: [mac], status: 'Deployed', locked: true },
    });
    const operationId = await runOf(site.server, machineId, REBOOT);
    return { machineId, operationId, fix: () => admin.changeMachine(id, { locked: false }) };
  },

  async MAAS_POWER_MANUAL(site) {
    const { machineId, mac } = await register(site, 'MAAS_POWER_MANUAL');
    const { admin } = site.simulator;
    const { system_id: id } = await admin.addMachine({
      ...{ mac_addresses: [mac], status: 'Deployed', power_type: 'manual' },
    });
    const operationId = await runOf(site.server, machineId, REBOOT);
    return { machineId, operationId, fix: () => admin.changeMachine(id, { power_type: 'ipmi' }) };
  },

  async BOOT_DISK_NOT_FOUND(site) {
    const started = await onboardWith(site, 'BOOT_DISK_NOT_FOUND', { fault: 'no_boss_disk' });
    const fix = async () => {
      await started.fix();
      await inState(site, started.mac, 'Ready');
    };
    return { ...started, fix };
  },

  async HARDWARE_SYNC_OFF(site) {
    const started = await onboardAt(site, 'HARDWARE_SYNC_OFF', 'Deployed');
    return { ...started, fix: () => inState(site, started.mac, 'Ready') };
  },

  async AGENT_NEVER_ENROLLED(site) {
    const started = await onboardWith(site, 'AGENT_NEVER_ENROLLED', { fault: 'agent_never_enrols' });
    const fix = async () => {
      await started.fix();
      await inState(site, started.mac, 'Deployed');
    };
    return { ...started, fix };
  },

  async UNEXPECTED_MAAS_STATE(site) {
    const started = await onboardAt(site, 'UNEXPECTED_MAAS_STATE', 'Missing');
    return { ...started, fix: () => inState(site, started.mac, 'Ready') };
  },

  async UPSTREAM_DRIFTED(site) {
    const { server, simulator } = site;
    const started = await onboardWith(site, 'UPSTREAM_DRIFTED', { fault: 'commissioning_failure' });
    await ended(server, started.operationId);
    await simulator.admin.removeMachine(await systemIdOf(site, started.mac));
    await until(
      () => server.operations.getOperation({ operationId: started.operationId }),
      ({ error }) => error?.code === 'UPSTREAM_DRIFTED',
      TIME_LIMIT,
    );
    return started;
  },

  async RELEASE_FAILED(site) {
    const { server, simulator } = site;
    const { machineId, mac } = await register(site, 'RELEASE_FAILED');
    await ended(server, (await onboard(server, machineId)).operationId);
    await simulator.admin.fault({ fault: 'erase_failure', mac, times: null });
    const { operationId } = await server.admin.decommissionMachine({
      machineId,
      requestId: requestId(),
      mode: DecommissionMode_Value.REIMAGE,
    });
    return { machineId, operationId, fix: () => simulator.admin.clearFaults(mac) };
  },
} as const satisfies Scenarios<MaasScenarioSite>;

/** A machine that was in service, and that its MAAS has lost. */
export async function lostUpstream(site: MaasScenarioSite): Promise<string> {
  const { machineId, mac } = await register(site, 'MACHINE_GONE');
  await ended(site.server, (await onboard(site.server, machineId)).operationId);
  await site.simulator.admin.removeMachine(await systemIdOf(site, mac));
  await serviceIs(site, machineId, 'quarantined');
  return machineId;
}

export async function serviceIs({ server }: MaasScenarioSite, machineId: string, service: string) {
  await until(
    () => server.machines.getMachine({ machineId }),
    ({ status }) => status?.service === service,
    TIME_LIMIT,
  );
}

function macOf({ machineId }: Failing): string {
  return (machineId.replace('m-', '').match(/../g) ?? []).join(':');
}
