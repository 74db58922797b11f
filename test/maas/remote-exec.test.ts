// @module-tag extended: api-v1/ssh-command.test.ts runs commands over the same sshd.
/** Commands, reboots and clusters on what a MAAS deployed, over a real sshd that has the keys which its cloud-config brought. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clustersConfiguration } from '../../src/clusters/cluster-configuration.ts';
import { newPlan, runPhase, startRun, v1Of } from '../api-v1/runs.ts';
import { needs } from '../parts/debian-packages.ts';
import { type ApiServer, startApiServer } from '../parts/kubernetes/api-server.ts';
import type { TestServer } from '../parts/server.ts';
import { createKey } from '../parts/sshd.ts';
import { type DeployedHost, startDeployedHost } from './deployed-host.ts';
import {
  ended,
  type MaasSite,
  machineInMaas,
  machineInService,
  newMac,
  openMaasSite,
  requestId,
  startMaasServer,
  statusOf,
} from './fleet.ts';

const TIME_LIMIT = 120_000;
const programs = needs('sshd');

describe.skipIf(programs.isMissing).concurrent(programs.title('on a machine that a MAAS deployed'), () => {
  let folder: string;
  let site: MaasSite;
  let api: ApiServer;
  let server: TestServer;
  const hosts: DeployedHost[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'ingot-maas-ssh-'));
    createKey(join(folder, 'key'), 'ed25519');
    site = await openMaasSite({
      ssh: { user: userInfo().username, private_key_file: join(folder, 'key') },
    });
    api = await startApiServer();
    server = await startMaasServer(site, {
      clusters: clustersConfiguration.parse({
        'cluster-a': { server: api.url, ca_file: api.authority.caFile, token_file: api.tokenFile },
      }),
    });
  }, TIME_LIMIT);
  afterAll(async () => {
    await server?.stop();
    await Promise.all(hosts.map((host) => host.stop()));
    await api?.stop();
    await site?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function deployed(spec: { readonly targetClusterRef?: string } = {}) {
    const mac = newMac();
    const host = await startDeployedHost(site.simulator.admin, mac);
    hosts.push(host);
    const { id } = await machineInService(server, {
      mac,
      sshEndpoint: host.endpoint,
      ...spec,
      commissioned: site,
    });
    return { id, mac, host };
  }

  const runOf = async (type: string, machineId: string, steps?: Parameters<typeof newPlan>[1]) => {
    const v1 = v1Of(server);
    const plan = steps ? await newPlan(server, steps) : null;
    const { runId } = await startRun(v1, type, machineId, plan ? { planId: plan.planId } : {});
    await ended(server, { operationId: runId.replace(/^run-/, 'op-') });
    return v1.runs.getRun({ runId });
  };
  const step = (
    name: string,
    kind: NonNullable<NonNullable<Parameters<typeof newPlan>[1]>[number]['kind']>,
  ) => ({
    name,
    timeoutSeconds: 60,
    maxRetries: 1,
    kind,
  });

  it('runs commands, applies netplan, and reboots it in both modes', {
    timeout: TIME_LIMIT,
    tags: ['extended'],
  }, async () => {
    const { id, host } = await deployed();
    const words = await runOf('UPGRADE', id, [
      step('say', {
        case: 'ssh',
        value: { command: 'echo hello from the deployed system', repeatable: true },
      }),
    ]);
    expect(runPhase(words), storyOf(words)).toBe('SUCCEEDED');
    const net = await runOf('NET_RECONFIG', id, [
      step('apply', { case: 'net', value: { action: 'apply', netplan: 'network: {version: 2}\n' } }),
      step('check', { case: 'net', value: { action: 'verify' } }),
    ]);
    expect(runPhase(net), storyOf(net)).toBe('SUCCEEDED');
    expect(host.calls()).toContain('netplan apply');
    expect(readFileSync(join(host.host.dir, '90-ingot.yaml'), 'utf8')).toBe('network: {version: 2}\n');

    // Asked to reboot itself, it is done when the host is up in another boot.
    const before = host.bootId();
    const over = await runOf('REBOOT', id, [step('reboot', { case: 'reboot', value: { mode: 'ssh' } })]);
    expect(runPhase(over), storyOf(over)).toBe('SUCCEEDED');
    expect(host.reboots()).toBe(1);
    expect(host.bootId()).not.toBe(before);

    const asked = host.bootId();
    const rebooted = await server.machines.rebootMachine({ machineId: id, requestId: requestId() });
    expect(await ended(server, rebooted)).toMatchObject({
      status: 'completed',
      steps: [{ message: 'the machine is back' }],
    });
    expect(host.bootId()).not.toBe(asked);
    expect(host.reboots()).toBe(1);
  });

  it('REPAVE with the default plan deploys, reboots, joins the cluster and verifies it, with a host key that was not known before', {
    tags: ['extended'],
    timeout: TIME_LIMIT,
  }, async () => {
    const { id, mac, host } = await deployed({ targetClusterRef: 'cluster-a' });
    const keyBefore = host.hostKey();
    const entered = await server.machines.enterMaintenance({ machineId: id, requestId: requestId() });
    expect(await ended(server, entered)).toMatchObject({ status: 'completed' });
    const repaved = await runOf('REPAVE', id);
    expect(runPhase(repaved), storyOf(repaved)).toBe('SUCCEEDED');
    expect(repaved.steps.map(({ name }) => name)).toEqual([
      'set-netboot',
      'repave-os',
      'reboot',
      'join-cluster',
      'verify',
    ]);
    expect(host.hostKey()).not.toBe(keyBefore);
    expect(host.host.joins()).toBe(1);
    expect(api.nodes.names()).toContain(id);
    expect((await statusOf(server, id)).conditions).toContainEqual(
      expect.objectContaining({ type: 'InCustomerCluster', status: true }),
    );
    const upgraded = await runOf('UPGRADE', id);
    expect(runPhase(upgraded), storyOf(upgraded)).toBe('SUCCEEDED');
    expect(host.calls()).toEqual(
      expect.arrayContaining(['kubeadm upgrade node', 'systemctl restart kubelet']),
    );
    // And through the v2 API: the same machine, once more.
    const back = await server.machines.enterMaintenance({ machineId: id, requestId: requestId() });
    expect(await ended(server, back)).toMatchObject({ status: 'completed' });
    api.nodes.delete(id);
    const again = await server.machines.reimageMachine({
      machineId: id,
      imageRef: 'jammy',
      requestId: requestId(),
    });
    expect(await ended(server, again)).toMatchObject({ status: 'completed' });
    expect((await ended(server, again)).steps.map(({ name }) => name)).toEqual([
      'netboot',
      'repave',
      'join',
      'verify',
    ]);
    expect(await machineInMaas(site, mac)).toMatchObject({ distro_series: 'jammy' });
    const returned = await runOf('RMA', id);
    expect(runPhase(returned), storyOf(returned)).toBe('SUCCEEDED');
    expect(await machineInMaas(site, mac)).toMatchObject({ power_state: 'off' });
  });

  it(
    'a host with another key than its deployment gave it gets no command, and no private key is kept or logged',
    async () => {
      const { id, mac } = await deployed();
      const { user_data: userData } = await machineInMaas(site, mac);
      const [, secret = ''] = /-----BEGIN OPENSSH PRIVATE KEY-----\s+(\S+)/.exec(userData) ?? [];
      expect(secret.length).toBeGreaterThan(20);
      await server.sql(`UPDATE host_keys SET public_key = $2 WHERE machine_id = $1`, [
        id,
        readFileSync(join(folder, 'key.pub'), 'utf8').split(' ').slice(0, 2).join(' '),
      ]);
      const refused = await runOf('UPGRADE', id, [
        step('say', { case: 'ssh', value: { command: 'true', repeatable: true } }),
      ]);
      expect(refused.steps[0]?.message).toMatch(/is not the one that is known of this host/);
      const stored = await server.sql<{ found: string }>(
        `SELECT string_agg(t::text, '') AS found FROM (
           SELECT operations::text t FROM operations UNION ALL SELECT events::text FROM events
           UNION ALL SELECT host_keys::text FROM host_keys) all_rows`,
      );
      expect(stored[0]?.found.length).toBeGreaterThan(1000);
      expect(stored[0]?.found).not.toContain(secret);
      expect(server.logged.join('')).not.toContain(secret);
    },
    TIME_LIMIT,
  );

  const storyOf = ({ steps }: Awaited<ReturnType<typeof runOf>>) =>
    steps.map(({ name, message }) => `${name}: ${message}`).join('; ');
});
