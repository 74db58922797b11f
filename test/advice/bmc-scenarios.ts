/** Failures of BMCs and of what installs over the network. Each machine has its own BMC: ipmi_sim, and ipmitool before it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { credentialsConfiguration } from '../../src/connections/credential-source.ts';
import { testStub } from '../../src/domain/install/boot/unified-image.fixture.ts';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { fresh } from '../api/fleet.ts';
import { bmcFields } from '../datacenter/bmc-site.ts';
import { boot, call, newMac, proofOf, report } from '../nodes/rest.ts';
import { testAuthority } from '../parts/certificates.ts';
import { needs } from '../parts/debian-packages.ts';
import { type IpmiBmc, startBmc } from '../parts/ipmi.ts';
import type { RedfishSimulatorOptions } from '../parts/redfish/simulator.ts';
import { putInstaller, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { VaultSimulator } from '../parts/vault/simulator.ts';
import { type IpmitoolStandIn, standInForIpmitool } from './ipmitool-stand-in.ts';
import { type RebootingHost, startRebootingHost } from './rebooting-host.ts';
import {
  changedAfterFailure,
  type Failing,
  runOf,
  type Scenarios,
  SHORT_SECONDS,
  setSpec,
  step,
  TIME_LIMIT,
} from './scenario.ts';
import { startTcpRelay } from './tcp-relay.ts';

export interface BmcScenarioSite {
  readonly server: TestServer;
  readonly ipmitool: IpmitoolStandIn;
  readonly host: RebootingHost;
  /** Of the provider `mixed-up`, whose specs name the BMC of another machine. */
  readonly mixedUp: RebootingHost;
  /** Has the logins of the provider `vaulted`. */
  readonly vault: VaultSimulator;
  /** Of Redfish BMCs: the login, and a certificate that only the provider `trusting` trusts. */
  readonly redfish: RedfishSimulatorOptions;
  readonly parts: { stop(): Promise<void> }[];
  stop(): Promise<void>;
}

export const IMAGE = 'debian-13';

export async function openBmcScenarioSite(): Promise<BmcScenarioSite> {
  const { problem } = needs('ipmi', 'sshd');
  if (problem) throw new Error(problem);
  const [first, host, mixedUp] = await Promise.all([startBmc(), startRebootingHost(), startRebootingHost()]);
  const ipmitool = standInForIpmitool();
  const ssh = {
    user: host.user,
    private_key_file: host.keyFile,
    insecure_accept_any: true,
    connect_timeout_seconds: 10,
  };
  const bmc = { ...bmcFields(first), power_off_seconds: 1 };
  const vault = await VaultSimulator.start();
  const folder = mkdtempSync(join(tmpdir(), 'ingot-secret-id-'));
  const secretIdFile = join(folder, 'secret-id');
  writeFileSync(secretIdFile, vault.secretId);
  const { password_file: _unused, ...loginless } = bmc as typeof bmc & { password_file?: unknown };
  const credentials = credentialsConfiguration.parse({
    vault: {
      kind: 'vault',
      address: vault.url,
      path: '{machine_id}',
      auth: { method: 'approle', role_id: vault.roleId, secret_id_file: secretIdFile },
    },
  });
  const providers = {
    vaulted: datacenterConfiguration.parse({
      kind: 'datacenter',
      ssh,
      bmc: { ...loginless, credentials: 'vault' },
    }),
    dc: datacenterConfiguration.parse({ kind: 'datacenter', ssh, bmc }),
    'mixed-up': datacenterConfiguration.parse({
      kind: 'datacenter',
      ssh: { ...ssh, private_key_file: mixedUp.keyFile },
      bmc,
    }),
    guarded: datacenterConfiguration.parse({
      kind: 'datacenter',
      ssh,
      bmc: { ...bmc, allowed_networks: ['127.0.0.0/8'] },
    }),
  };
  const authority = testAuthority();
  const redfish = {
    user: first.user,
    password: first.password,
    tls: authority.issue({ name: 'bmc', names: ['127.0.0.1'], purpose: 'server' }),
  };
  const trusting = { ...bmc, redfish: { ca_file: authority.caFile } };
  const server = await startTestServer({
    providers: {
      ...providers,
      trusting: datacenterConfiguration.parse({ kind: 'datacenter', ssh, bmc: trusting }),
      'http-alone': datacenterConfiguration.parse({
        kind: 'datacenter',
        ssh,
        bmc: { ...trusting, boot: { way: 'http' } },
      }),
      'ipmi-alone': datacenterConfiguration.parse({
        kind: 'datacenter',
        ssh,
        bmc: { ...bmc, protocol: 'ipmi' },
      }),
    },
    credentials,
    netboot: { base_url: 'http://127.0.0.1:9' },
  });
  await addImage(server, IMAGE);
  // For an installer that firmware loads by HTTP.
  writeFileSync(join(server.bootDir, 'linux.efi.stub'), testStub());
  const parts: BmcScenarioSite['parts'] = [first, host, mixedUp, vault];
  return {
    server,
    ipmitool,
    host,
    mixedUp,
    vault,
    redfish,
    parts,
    stop: async () => {
      await server.stop();
      ipmitool.stop();
      rmSync(folder, { recursive: true });
      authority.remove();
      for (const part of parts) await part.stop();
    },
  };
}

function addImage(server: TestServer, name: string) {
  return server.sql(
    `INSERT INTO images (image_name, sha256, size_bytes, created_by) VALUES ($1, repeat('0', 64), 1, 'admin:t')`,
    [name],
  );
}

export interface Registered {
  readonly machineId: string;
  readonly mac: string;
  readonly bmc: IpmiBmc;
}

export async function register(
  site: BmcScenarioSite,
  { provider = 'dc', sshEndpoint = '' } = {},
): Promise<Registered> {
  const bmc = await startBmc();
  site.parts.push(bmc);
  const [machineId, mac] = [fresh('bmc'), newMac()];
  const spec = { provider, bmcEndpoint: bmc.endpoint, sshEndpoint, macAddresses: [mac] };
  await site.server.machines.registerMachine({ machine: { machineId, spec } });
  return { machineId, mac, bmc };
}

const FROM_DISK = step({ case: 'netboot', value: { mode: 'DISK' } });
const FROM_NETWORK = step({ case: 'netboot', value: { mode: 'PXE', image: IMAGE } });
export const REFUSES = 'Set Chassis Boot Parameter 5 failed: Command not supported in present state';

/** The BMC refuses in these words. */
async function refusedWith(
  site: BmcScenarioSite,
  words: string,
  only = FROM_DISK,
  provider = 'dc',
): Promise<Failing & Registered> {
  const registered = await register(site, { provider });
  const { endpoint } = registered.bmc;
  site.ipmitool.answer(endpoint, words);
  const operationId = await runOf(site.server, registered.machineId, only);
  return { ...registered, operationId, fix: async () => site.ipmitool.repair(endpoint) };
}

/** What the start would have refused is changed after it, and the BMC obeys from then on. */
async function changedLater(
  site: BmcScenarioSite,
  change: (registered: Registered) => Promise<unknown>,
  undo: (registered: Registered) => Promise<unknown>,
  only = FROM_DISK,
  provider = 'dc',
): Promise<Failing> {
  const failing = await refusedWith(site, REFUSES, only, provider);
  await changedAfterFailure(site.server, failing.operationId, async () => {
    await failing.fix();
    await change(failing);
  });
  return { ...failing, fix: () => undo(failing) };
}

/** A node that is what `state` says, with what is served to it. */
export async function nodeOf(
  server: TestServer,
  { machineId, mac }: Registered,
  workflow: string,
  state: string,
) {
  await server.sql('INSERT INTO nodes (machine_id, mac_address, workflow) VALUES ($1, $2, $3)', [
    machineId,
    mac,
    workflow,
  ]);
  await server.sql('UPDATE machines SET install = $2 WHERE machine_id = $1', [machineId, state]);
}

/** The machine boots until what it is served is what its operation waits for, and reports that it is installed. */
async function installsItself(server: TestServer, { machineId, mac }: Registered): Promise<void> {
  await until(
    async () => {
      await sleep(300);
      const { script, token } = await boot(server, mac);
      if (token === null) return null;
      await report(server, mac, 'started', {}, token);
      await report(server, mac, 'complete', proofOf(script, token, mac), token);
      return (await call(server, 'GET', `/nodes/${machineId}`)).body.data.state;
    },
    (state) => state === 'installed',
    TIME_LIMIT,
  );
}

export const BMC_SCENARIOS = {
  // The cause is removed on the BMC: its login must be tried again although it was refused a moment ago.
  AUTHENTICATION_FAILED: (site) => refusedWith(site, 'RAKP 2 HMAC is invalid'),
  PRIVILEGE_REFUSED: (site) =>
    refusedWith(site, 'RAKP 2 message indicates an error : unauthorized role or privilege level requested'),
  CIPHER_SUITE_REFUSED: (site) =>
    refusedWith(
      site,
      'Error in open session response message : no cipher suite match with proposed security algorithms',
    ),
  BMC_BUSY: (site) =>
    refusedWith(site, 'Error in open session response message : insufficient resources for session', {
      ...FROM_DISK,
      timeoutSeconds: SHORT_SECONDS,
    }),
  BMC_REFUSED: (site) => refusedWith(site, REFUSES),

  async BOOT_DEVICE_NOT_SET(site) {
    const { machineId, bmc } = await register(site);
    bmc.fault('ignores-boot');
    const operationId = await runOf(site.server, machineId, FROM_NETWORK);
    return { machineId, operationId, fix: async () => bmc.repair() };
  },

  async POWER_STAYS_ON(site) {
    const registered = await register(site);
    const { machineId, bmc } = registered;
    bmc.switchOn();
    bmc.fault('ignores-off');
    const operationId = await runOf(
      site.server,
      machineId,
      step({ case: 'repave', value: { image: IMAGE } }),
    );
    const fix = async () => {
      bmc.repair();
      installsItself(site.server, registered).catch(() => {});
    };
    return { machineId, operationId, fix };
  },

  async HOST_UNREACHABLE(site) {
    const relay = await startTcpRelay(null);
    site.parts.push(relay);
    const { machineId, bmc } = await register(site, { sshEndpoint: relay.endpoint });
    bmc.switchOn();
    const operationId = await runOf(
      site.server,
      machineId,
      step({ case: 'reboot', value: { mode: 'ssh' } }, 2 * SHORT_SECONDS),
    );
    return { machineId, operationId, fix: async () => relay.leadTo(site.host.port) };
  },

  async BMC_MISMATCH(site) {
    const relay = await startTcpRelay(site.mixedUp.port);
    site.parts.push(relay);
    const right = await startBmc();
    site.parts.push(right);
    right.switchOn();
    site.mixedUp.bootsWith(right.bootIdFile);
    const { machineId, bmc } = await register(site, { provider: 'mixed-up', sshEndpoint: relay.endpoint });
    bmc.switchOn();
    const operationId = await runOf(site.server, machineId, step({ case: 'reboot', value: { mode: 'bmc' } }));
    return {
      machineId,
      operationId,
      fix: () => setSpec(site.server, machineId, { bmcEndpoint: right.endpoint }),
    };
  },

  NO_BMC_ENDPOINT: (site) =>
    changedLater(
      site,
      ({ machineId }) => setSpec(site.server, machineId, { bmcEndpoint: '' }),
      ({ machineId, bmc }) => setSpec(site.server, machineId, { bmcEndpoint: bmc.endpoint }),
    ),

  REDFISH_NOT_SUPPORTED: (site) =>
    changedLater(
      site,
      ({ machineId }) => setSpec(site.server, machineId, { bmcEndpoint: 'https://127.0.0.1:9' }),
      ({ machineId, bmc }) => setSpec(site.server, machineId, { bmcEndpoint: bmc.endpoint }),
      FROM_DISK,
      'ipmi-alone',
    ),

  async CREDENTIAL_SOURCE_UNAVAILABLE(site) {
    const { vault } = site;
    const { machineId, bmc } = await register(site, { provider: 'vaulted' });
    vault.put(`secret/data/${machineId}`, { username: bmc.user, password: bmc.password });
    vault.fault = 'sealed';
    const operationId = await runOf(site.server, machineId, FROM_DISK);
    const fix = async () => {
      vault.fault = null;
    };
    return { machineId, operationId, fix, goesOn: true };
  },

  ADDRESS_NOT_ALLOWED: (site) =>
    changedLater(
      site,
      // As a database has it that is older than the rule: no request can set it.
      ({ machineId }) =>
        site.server.sql(
          `UPDATE machines SET spec = jsonb_set(spec, '{bmc_endpoint}', '"169.254.169.254"') WHERE machine_id = $1`,
          [machineId],
        ),
      ({ machineId, bmc }) => setSpec(site.server, machineId, { bmcEndpoint: bmc.endpoint }),
    ),

  async BMC_ADDRESS_NOT_ALLOWED(site) {
    const { server } = site;
    const { machineId, bmc } = await register(site, { provider: 'guarded' });
    site.ipmitool.answer(bmc.endpoint, REFUSES);
    const operationId = await runOf(server, machineId, FROM_DISK);
    await changedAfterFailure(server, operationId, () =>
      setSpec(server, machineId, { bmcEndpoint: '192.0.2.1' }),
    );
    const fix = async () => {
      site.ipmitool.repair(bmc.endpoint);
      await setSpec(server, machineId, { bmcEndpoint: bmc.endpoint });
    };
    return { machineId, operationId, fix };
  },

  NO_MAC_ADDRESS: (site) =>
    changedLater(
      site,
      ({ machineId }) => setSpec(site.server, machineId, { macAddresses: [] }),
      ({ machineId, mac }) => setSpec(site.server, machineId, { macAddresses: [mac] }),
      FROM_NETWORK,
    ),

  async MAC_TAKEN(site) {
    const { server } = site;
    const other = await register(site);
    return changedLater(
      site,
      async ({ mac }) => {
        // As a database has it that is older than the rule that no two machines share an address.
        await server.sql('ALTER TABLE machines DISABLE TRIGGER machines_hardware');
        await server.sql(
          `UPDATE machines SET spec = jsonb_set(spec, '{mac_addresses}', $2) WHERE machine_id = $1`,
          [other.machineId, JSON.stringify([mac])],
        );
        await server.sql('ALTER TABLE machines ENABLE TRIGGER machines_hardware');
        await nodeOf(server, { ...other, mac }, '', 'discovered');
      },
      () => setSpec(server, other.machineId, { macAddresses: [newMac()] }),
      FROM_NETWORK,
    );
  },

  async IMAGE_NOT_FOUND(site) {
    const { server } = site;
    const image = fresh('image');
    await addImage(server, image);
    const only = step({ case: 'netboot', value: { mode: 'PXE', image } });
    return changedLater(
      site,
      () => call(server, 'DELETE', `/images/${image}`),
      () => addImage(server, image),
      only,
    );
  },

  async WORKFLOW_NOT_FOUND(site) {
    const { server } = site;
    const workflow = fresh('workflow');
    const add = () => call(server, 'POST', '/workflows', { name: workflow, image: { name: IMAGE } });
    await add();
    return changedLater(
      site,
      async (registered) => {
        await nodeOf(server, registered, workflow, 'discovered');
        await server.sql('DELETE FROM workflows WHERE workflow_name = $1', [workflow]);
      },
      add,
      FROM_NETWORK,
    );
  },

  async NO_IMAGE(site) {
    const { server } = site;
    const workflow = fresh('workflow');
    await call(server, 'POST', '/workflows', { name: workflow, image: { name: IMAGE } });
    const registered = await register(site);
    await nodeOf(server, registered, workflow, 'discovered');
    const serves = (name: string) =>
      server.sql('UPDATE nodes SET workflow = $2 WHERE machine_id = $1', [registered.machineId, name]);
    site.ipmitool.answer(registered.bmc.endpoint, REFUSES);
    const operationId = await runOf(server, registered.machineId, step({ case: 'repave', value: {} }));
    await changedAfterFailure(server, operationId, async () => {
      site.ipmitool.repair(registered.bmc.endpoint);
      await serves('');
    });
    const fix = async () => {
      await serves(workflow);
      installsItself(server, registered).catch(() => {});
    };
    return { machineId: registered.machineId, operationId, fix };
  },

  INSTALLER_NOT_BUILT: (site) =>
    changedLater(
      site,
      async (registered) => {
        await nodeOf(site.server, registered, '', 'discovered');
        await site.server.sql(`UPDATE nodes SET arch = 'arm64' WHERE machine_id = $1`, [
          registered.machineId,
        ]);
      },
      async () => putInstaller(join(site.server.bootDir, 'installer', 'arm64')),
      FROM_NETWORK,
    ),

  async BOOT_FILE_MISSING(site) {
    const workflow = fresh('workflow');
    const own = { kernel: `${workflow}/vmlinuz`, initrd: `${workflow}/initrd.gz` };
    const dir = join(site.server.bootDir, workflow);
    putInstaller(dir);
    await call(site.server, 'POST', '/workflows', { name: workflow, ...own, image: { name: IMAGE } });
    return changedLater(
      site,
      async (registered) => {
        await nodeOf(site.server, registered, workflow, 'discovered');
        rmSync(join(dir, 'initrd.gz'));
      },
      async () => putInstaller(dir),
      FROM_NETWORK,
    );
  },

  NODE_NOT_INSTALLABLE: (site) =>
    changedLater(
      site,
      (registered) => nodeOf(site.server, registered, '', 'migrating'),
      ({ machineId }) => call(site.server, 'PATCH', `/nodes/${machineId}/state`, { state: 'active' }),
      FROM_NETWORK,
    ),
} as const satisfies Scenarios<BmcScenarioSite>;

/** Only one at a time: what they do, they do to every BMC. */
export const IPMITOOL_SCENARIOS = {
  IPMITOOL_MISSING: (site) => withoutIpmitool(site, 'away'),
  IPMITOOL_FAILED: (site) => withoutIpmitool(site, 'into a loop'),
} as const satisfies Scenarios<BmcScenarioSite>;

async function withoutIpmitool(site: BmcScenarioSite, how: 'away' | 'into a loop'): Promise<Failing> {
  const { machineId } = await register(site);
  site.ipmitool.take(how);
  const operationId = await runOf(site.server, machineId, FROM_DISK);
  return { machineId, operationId, fix: async () => site.ipmitool.putBack() };
}
