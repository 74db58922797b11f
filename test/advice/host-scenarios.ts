/** Failures over SSH, and of hosts that join a cluster. Each machine has its own relay to a real sshd. */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clustersConfiguration } from '../../src/clusters/cluster-configuration.ts';
import { FAILURE_CODES, type FailureCode } from '../../src/domain/error/failure-code.ts';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { fresh } from '../api/fleet.ts';
import { needs } from '../parts/debian-packages.ts';
import { type ApiServer, startApiServer } from '../parts/kubernetes/api-server.ts';
import { createHost, type StandInHost } from '../parts/kubernetes/host.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { type Sshd, startSshd } from '../parts/sshd.ts';
import { until } from '../parts/until.ts';
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
import { startTcpRelay, type TcpRelay } from './tcp-relay.ts';
import { startTlsRelay, type TlsRelay } from './tls-relay.ts';

export interface HostSite {
  readonly server: TestServer;
  readonly sshd: Sshd;
  readonly api: ApiServer;
  /** Before the API server of one cluster. */
  readonly relay: TlsRelay;
  /** A file of the scenario's own. */
  readonly file: (code: FailureCode, name: string) => string;
  /** Stopped with the site. */
  readonly parts: { stop(): Promise<void> }[];
  stop(): Promise<void>;
}

const nameOf = (code: FailureCode) => code.toLowerCase().replaceAll('_', '-');

/** The others accept any host. */
const KNOWS_HOSTS: readonly FailureCode[] = ['HOST_KEY_MISMATCH', 'KNOWN_HOSTS_UNREADABLE'];

export async function openHostSite(): Promise<HostSite> {
  const { problem } = needs('sshd');
  if (problem) throw new Error(problem);
  const folder = mkdtempSync(join(tmpdir(), 'ingot-advice-host-'));
  const file = (code: FailureCode, name: string) => join(folder, `${code}.${name}`);
  const [sshd, api] = await Promise.all([startSshd(), startApiServer()]);
  const relay = await startTlsRelay(new URL(api.url), folder);
  const codes = FAILURE_CODES.filter((code) => code in HOST_SCENARIOS);
  const providers = codes.map((code) => {
    copyFileSync(sshd.keyFile, file(code, 'key'));
    writeFileSync(file(code, 'known-hosts'), '# no host yet\n');
    const known = KNOWS_HOSTS.includes(code)
      ? { known_hosts_file: file(code, 'known-hosts') }
      : { insecure_accept_any: true };
    const ssh = {
      user: sshd.user,
      private_key_file: file(code, 'key'),
      connect_timeout_seconds: 30,
      ...known,
    };
    return [nameOf(code), datacenterConfiguration.parse({ kind: 'datacenter', ssh })] as const;
  });
  const clusters = codes.map((code) => {
    copyFileSync(api.tokenFile, file(code, 'token'));
    const at =
      code === 'CLUSTER_CERTIFICATE_INVALID'
        ? { server: relay.url, ca_file: relay.caFile }
        : { server: api.url, ca_file: api.authority.caFile };
    return [nameOf(code), { ...at, token_file: file(code, 'token'), request_timeout_seconds: 60 }];
  });
  const server = await startTestServer({
    providers: Object.fromEntries(providers),
    clusters: clustersConfiguration.parse(Object.fromEntries(clusters)),
  });
  const parts: HostSite['parts'] = [];
  return {
    server,
    sshd,
    api,
    relay,
    file,
    parts,
    stop: async () => {
      await server.stop();
      for (const part of [...parts, relay, sshd, api]) await part.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface Host {
  readonly machineId: string;
  readonly relay: TcpRelay;
}

async function register(
  site: HostSite,
  code: FailureCode,
  port: number | null = site.sshd.port,
): Promise<Host> {
  const relay = await startTcpRelay(port);
  site.parts.push(relay);
  const machineId = fresh('host');
  const spec = { provider: nameOf(code), sshEndpoint: relay.endpoint, targetClusterRef: nameOf(code) };
  await site.server.machines.registerMachine({ machine: { machineId, spec } });
  return { machineId, relay };
}

const command = (text: string) => step({ case: 'ssh', value: { command: text, repeatable: true } });

/** A host that can join: its files and its kubeadm are a folder's, whatever the commands name. */
async function registerJoining(
  site: HostSite,
  code: FailureCode,
): Promise<Host & { host: StandInHost; own: Sshd }> {
  const host = createHost();
  const inFolder = join(host.dir, 'in-folder');
  const there = `s#/etc/kubernetes#${host.files.kubernetes}#g; s#/run/ingot-kubeadm-join.lock#${host.files.lock}#g`;
  writeFileSync(
    inFolder,
    `#!/bin/sh\nexec sh -c "$(printf '%s' "$SSH_ORIGINAL_COMMAND" | sed '${there}')"\n`,
    { mode: 0o755 },
  );
  const own = await startSshd({ env: host.env, config: [`ForceCommand ${inFolder}`] });
  site.parts.push(own, { stop: async () => host.remove() });
  copyFileSync(own.keyFile, site.file(code, 'key'));
  return { ...(await register(site, code, own.port)), host, own };
}

const JOIN = step({ case: 'join', value: {} });
const VERIFY = step({ case: 'verify', value: {} });

/** What the API server does wrong when it is asked for the node. */
async function verifyWith(site: HostSite, code: FailureCode, status: number, seconds = 60): Promise<Failing> {
  const { machineId } = await register(site, code);
  site.api.setNode(machineId, 'Ready');
  const fault = { request: new RegExp(`/nodes/${machineId}$`), how: { status }, times: 1_000 };
  site.api.fail(fault);
  const operationId = await runOf(site.server, machineId, { ...VERIFY, timeoutSeconds: seconds });
  return { machineId, operationId, fix: async () => site.api.clearFaults(fault) };
}

export const HOST_SCENARIOS = {
  async UNREACHABLE(site) {
    const { machineId, relay } = await register(site, 'UNREACHABLE', null);
    const short = step({ case: 'ssh', value: { command: 'true', repeatable: true } }, SHORT_SECONDS);
    const operationId = await runOf(site.server, machineId, short);
    return { machineId, operationId, fix: async () => relay.leadTo(site.sshd.port) };
  },

  async HOST_KEY_MISMATCH(site) {
    const { machineId, relay } = await register(site, 'HOST_KEY_MISMATCH');
    const [host = '', port = ''] = relay.endpoint.split(':');
    const known = site.file('HOST_KEY_MISMATCH', 'known-hosts');
    const operationId = await runOf(site.server, machineId, command('true'));
    const fix = async () => writeFileSync(known, `[${host}]:${port} ${site.sshd.hostKey}\n`);
    return { machineId, operationId, fix };
  },

  async KNOWN_HOSTS_UNREADABLE(site) {
    const { machineId, relay } = await register(site, 'KNOWN_HOSTS_UNREADABLE');
    const [host = '', port = ''] = relay.endpoint.split(':');
    const known = site.file('KNOWN_HOSTS_UNREADABLE', 'known-hosts');
    rmSync(known);
    const operationId = await runOf(site.server, machineId, command('true'));
    const fix = async () => writeFileSync(known, `[${host}]:${port} ${site.sshd.hostKey}\n`);
    return { machineId, operationId, fix };
  },

  async SSH_HANDSHAKE_FAILED(site) {
    const old = await startSshd({ config: ['Ciphers aes256-cbc'] });
    site.parts.push(old);
    const { machineId, relay } = await register(site, 'SSH_HANDSHAKE_FAILED', old.port);
    const operationId = await runOf(site.server, machineId, command('true'));
    return { machineId, operationId, fix: async () => relay.leadTo(site.sshd.port) };
  },

  async NO_SSH_ENDPOINT(site) {
    const { server } = site;
    const { machineId, relay } = await register(site, 'NO_SSH_ENDPOINT');
    const made = site.file('NO_SSH_ENDPOINT', 'made');
    const operationId = await runOf(server, machineId, command(`test -e ${made}`));
    await changedAfterFailure(server, operationId, () => setSpec(server, machineId, { sshEndpoint: '' }));
    const fix = async () => {
      writeFileSync(made, '');
      await setSpec(server, machineId, { sshEndpoint: relay.endpoint });
    };
    return { machineId, operationId, fix };
  },

  async CONNECTION_LOST(site) {
    const { machineId, relay } = await register(site, 'CONNECTION_LOST');
    const made = site.file('CONNECTION_LOST', 'made');
    const once = { command: `touch ${made}; sleep 20`, check: `test -e ${made}` };
    const operationId = await runOf(site.server, machineId, step({ case: 'ssh', value: once }));
    await until(async () => existsSync(made), Boolean, TIME_LIMIT);
    relay.cut();
    return { machineId, operationId, fix: async () => {} };
  },

  async COMMAND_INTERRUPTED(site) {
    const { machineId, relay } = await register(site, 'COMMAND_INTERRUPTED');
    const [made, fixed] = ['made', 'fixed'].map((name) => site.file('COMMAND_INTERRUPTED', name));
    const slow = command(`touch ${made}; test -e ${fixed} || sleep 20`);
    const operationId = await runOf(site.server, machineId, slow);
    await until(async () => existsSync(made ?? ''), Boolean, TIME_LIMIT);
    relay.cut();
    return { machineId, operationId, fix: async () => writeFileSync(fixed ?? '', '') };
  },

  async COMMAND_FAILED(site) {
    const { machineId } = await register(site, 'COMMAND_FAILED');
    const made = site.file('COMMAND_FAILED', 'made');
    const operationId = await runOf(site.server, machineId, command(`test -e ${made}`));
    return { machineId, operationId, fix: async () => writeFileSync(made, '') };
  },

  async NETPLAN_MISSING(site) {
    const { machineId, host } = await registerJoining(site, 'NETPLAN_MISSING');
    // Before any real one on the path, and ends as a shell does that finds none.
    const netplan = (exitCode: number) =>
      writeFileSync(join(host.dir, 'bin', 'netplan'), `#!/bin/sh\nexit ${exitCode}\n`, { mode: 0o755 });
    netplan(127);
    const operationId = await runOf(
      site.server,
      machineId,
      step({ case: 'net', value: { action: 'apply' } }),
    );
    return { machineId, operationId, fix: async () => netplan(0) };
  },

  async CLUSTER_UNAUTHORIZED(site) {
    const code = 'CLUSTER_UNAUTHORIZED';
    const { machineId } = await register(site, code);
    site.api.setNode(machineId, 'Ready');
    writeFileSync(site.file(code, 'token'), 'expired');
    const operationId = await runOf(site.server, machineId, VERIFY);
    return {
      machineId,
      operationId,
      fix: async () => copyFileSync(site.api.tokenFile, site.file(code, 'token')),
    };
  },

  CLUSTER_FORBIDDEN: (site) => verifyWith(site, 'CLUSTER_FORBIDDEN', 403),
  CLUSTER_UNAVAILABLE: (site) => verifyWith(site, 'CLUSTER_UNAVAILABLE', 503, SHORT_SECONDS),
  CLUSTER_REFUSED: (site) => verifyWith(site, 'CLUSTER_REFUSED', 410),

  async CLUSTER_CERTIFICATE_INVALID(site) {
    const { machineId } = await register(site, 'CLUSTER_CERTIFICATE_INVALID');
    site.api.setNode(machineId, 'Ready');
    site.relay.show('stranger');
    const operationId = await runOf(site.server, machineId, VERIFY);
    return { machineId, operationId, fix: async () => site.relay.show('itself') };
  },

  async NODE_NOT_FOUND(site) {
    const { machineId } = await register(site, 'NODE_NOT_FOUND');
    const cordon = step({ case: 'cluster', value: { action: 'cordon' } });
    const operationId = await runOf(site.server, machineId, cordon);
    return { machineId, operationId, fix: async () => site.api.setNode(machineId, 'Ready') };
  },

  async NODE_NAME_INVALID(site) {
    const { server, api } = site;
    const failing = await verifyWith(site, 'NODE_NAME_INVALID', 403);
    const { machineId, operationId } = failing;
    const name = (label: string) =>
      server.machines.updateMachine({
        machine: { machineId, labels: { 'ingot/node-name': label } },
        updateMask: { paths: ['labels.ingot/node-name'] },
      });
    await changedAfterFailure(server, operationId, () =>
      server.sql(
        `UPDATE machines SET labels = labels || '{"ingot/node-name": "Not_A_Name"}' WHERE machine_id = $1`,
        [machineId],
      ),
    );
    const fix = async () => {
      api.setNode('a-name', 'Ready');
      await name('a-name');
    };
    return { machineId, operationId, fix };
  },

  async NODE_NAME_TAKEN(site) {
    const { machineId } = await registerJoining(site, 'NODE_NAME_TAKEN');
    site.api.setNode(machineId, 'Ready');
    const operationId = await runOf(site.server, machineId, JOIN);
    return { machineId, operationId, fix: async () => site.api.nodes.delete(machineId) };
  },

  async HOST_IN_ANOTHER_CLUSTER(site) {
    const { machineId, host } = await registerJoining(site, 'HOST_IN_ANOTHER_CLUSTER');
    mkdirSync(host.files.kubernetes);
    writeFileSync(join(host.files.kubernetes, 'kubelet.conf'), '');
    const operationId = await runOf(site.server, machineId, JOIN);
    return { machineId, operationId, fix: async () => host.wipe() };
  },

  async KUBEADM_MISSING(site) {
    const { machineId, host } = await registerJoining(site, 'KUBEADM_MISSING');
    const program = join(host.dir, 'bin', 'kubeadm');
    renameSync(program, `${program}.away`);
    const operationId = await runOf(site.server, machineId, JOIN);
    return { machineId, operationId, fix: async () => renameSync(`${program}.away`, program) };
  },

  async JOIN_FAILED(site) {
    const { machineId, host } = await registerJoining(site, 'JOIN_FAILED');
    host.control('break', '');
    const operationId = await runOf(site.server, machineId, JOIN);
    return { machineId, operationId, fix: async () => host.forget('break') };
  },

  async JOIN_INTERRUPTED(site) {
    const { machineId, host, own } = await registerJoining(site, 'JOIN_INTERRUPTED');
    host.control('delay-ms', '2000');
    const operationId = await runOf(site.server, machineId, JOIN);
    await until(
      async () => host.joins(),
      (joins) => joins === 1,
      TIME_LIMIT,
    );
    own.cutConnections();
    return { machineId, operationId, fix: async () => {}, goesOn: true };
  },
} as const satisfies Scenarios<HostSite>;
