// @module-tag extended: cluster-api.test.ts joins; this refuses in each way.
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { needs } from '../parts/debian-packages.ts';
import { type ApiServer, startApiServer } from '../parts/kubernetes/api-server.ts';
import { createHost, type StandInHost } from '../parts/kubernetes/host.ts';
import { type KubernetesObject, readSecret } from '../parts/kubernetes/objects.ts';
import { type Sshd, startSshd } from '../parts/sshd.ts';
import { until } from '../parts/until.ts';
import { callFor, clustersOf, createSite, failureOf, machineAt, type Site } from './site.ts';

const programs = needs('sshd');

/** The command lines and environments of everything that runs here, our own process left out. */
function everythingThatRuns(): string {
  const read = (file: string) => {
    try {
      return readFileSync(file, 'utf8');
    } catch {
      return '';
    }
  };
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    .map((pid) => `${read(`/proc/${pid}/cmdline`)} ${read(`/proc/${pid}/environ`)}`)
    .join('\n');
}

describe.skipIf(programs.isMissing)(programs.title('joining a cluster'), () => {
  let api: ApiServer;
  let host: StandInHost;
  let sshd: Sshd;
  let site: Site;
  const machine = () => machineAt(sshd.endpoint);
  const join = (fields = {}) => {
    const call = callFor(machine(), { key: 'op-7/join/1', step: 'join', ...fields });
    return site.can.cluster.join(call, 'cluster-a').then(() => call);
  };
  const membership = (fields = {}) =>
    site.can.cluster.membership(callFor(machine(), { key: 'op-7/join/1', ...fields }), 'cluster-a');
  const theSecret = async (): Promise<KubernetesObject> => {
    await until(() => api.secrets.names().length === 1);
    return api.secrets.get(api.secrets.names()[0] ?? '');
  };

  beforeAll(async () => {
    api = await startApiServer();
  });
  beforeEach(async () => {
    host = createHost();
    sshd = await startSshd({ env: host.env });
    site = createSite(sshd, { clusters: clustersOf(api), hostFiles: host.files });
  });
  afterEach(async () => {
    await sshd.stop();
    site.remove();
    host.remove();
    api.clearFaults();
    api.joinNotReady = false;
    for (const name of api.nodes.names()) api.nodes.delete(name);
    for (const name of api.secrets.names()) api.secrets.delete(name);
    api.requests.length = 0;
  });
  afterAll(() => api.stop());

  it('makes the host a Ready node, and leaves no token behind', async () => {
    expect(await membership()).toMatchObject({ joined: false, pending: false });
    const call = await join();
    expect(api.secrets.names()).toEqual([]);
    expect(await membership()).toMatchObject({ joined: true });
    expect(await site.can.cluster.ready(callFor(machine()), 'cluster-a')).toBe(true);
    expect(call.lines.map(({ text }) => text)).toContain('This node has joined the cluster');
    expect(call.lines[0]?.text).toBe(`Joining cluster-a at 127.0.0.1:${api.port} as m-1`);
  });

  it('mints a token as kubeadm would, that expires soon and names its operation', async () => {
    host.control('delay-ms', '600');
    const joining = join();
    const secret = await theSecret();
    const data = readSecret(secret);
    expect(secret.type).toBe('bootstrap.kubernetes.io/token');
    expect(secret.metadata.name).toBe(`bootstrap-token-${data['token-id']}`);
    expect(secret.metadata.labels).toMatchObject({ 'ingot.dev/operation': 'op-7' });
    expect(data['token-id']).toMatch(/^[a-z0-9]{6}$/);
    expect(data['token-secret']).toMatch(/^[a-z0-9]{16}$/);
    expect(data).toMatchObject({
      'usage-bootstrap-authentication': 'true',
      'usage-bootstrap-signing': 'true',
      'auth-extra-groups': 'system:bootstrappers:kubeadm:default-node-token',
    });
    expect(data.description).toContain('op-7');
    const minutes = (Date.parse(data.expiration ?? '') - Date.now()) / 60_000;
    expect(minutes).toBeGreaterThan(13);
    expect(minutes).toBeLessThan(16);
    await joining;
  });

  it('shows the token neither in a process list nor in the log, also when kubeadm prints it', async () => {
    host.control('delay-ms', '1000');
    host.control('print-config', '');
    const joining = join();
    const { 'token-secret': secret = '' } = readSecret(await theSecret());
    await until(() => host.joins() === 1);
    const seen = everythingThatRuns();
    expect(seen).toContain('kubeadm.mjs\0join\0--config\0/dev/stdin');
    expect(seen).not.toContain(secret);
    const call = await joining;
    const logged = JSON.stringify(call.lines);
    expect(logged).toContain('[removed]');
    expect(logged).not.toContain(secret);
  });

  it('a second time changes nothing', async () => {
    await join();
    await join({ key: 'op-7/join/2' });
    expect(host.joins()).toBe(1);
    expect(api.requests.filter((line) => line.startsWith('POST') && line.includes('secrets'))).toHaveLength(
      1,
    );
  });

  it('under the name that a label gives it', { tags: ['extended'] }, async () => {
    const named = machineAt(sshd.endpoint, { labels: { 'ingot/node-name': 'rack-1.node-2' } });
    await site.can.cluster.join(callFor(named), 'cluster-a');
    expect(api.nodes.names()).toEqual(['rack-1.node-2']);
    expect(await site.can.cluster.ready(callFor(named), 'cluster-a')).toBe(true);
  });

  it('again after the disk was written again, though the old Node is still there', {
    tags: ['extended'],
  }, async () => {
    await join();
    host.wipe();
    api.setNode('m-1', 'NotReady');
    expect(await membership()).toMatchObject({ joined: false, pending: false });
    await join({ key: 'op-8/join/1' });
    expect(host.joins()).toBe(2);
    expect(await membership()).toMatchObject({ joined: true });
  });

  it('with an older kubeadm uses its API version', { tags: ['extended'] }, async () => {
    host.control('version', 'v1.28.4');
    await join();
    expect(await membership()).toMatchObject({ joined: true });
  });

  describe('leaves no token behind', () => {
    it('when kubeadm fails; the next attempt clears up on the host and succeeds', async () => {
      host.control('break', '');
      const failure = await failureOf(join());
      expect(failure).toMatchObject({ class: 'retryable', code: 'JOIN_FAILED' });
      expect(failure.message).toContain('exited with 1: error execution phase: kubelet-start: timed out');
      expect(api.secrets.names()).toEqual([]);
      host.forget('break');
      expect(await membership()).toMatchObject({ joined: false, pending: false });
      await join({ key: 'op-7/join/2' });
      expect(host.resets()).toBe(1);
      expect(await membership()).toMatchObject({ joined: true });
    });

    it('when it is stopped', { tags: ['extended'] }, async () => {
      host.control('delay-ms', '20000');
      const stop = new AbortController();
      const joining = join({ signal: stop.signal });
      await theSecret();
      await until(() => host.joins() === 1);
      stop.abort(new Error('stopped by the test'));
      await expect(joining).rejects.toThrow('stopped by the test');
      expect(api.secrets.names()).toEqual([]);
    });

    it('when the connection to the host breaks', { tags: ['extended'] }, async () => {
      host.control('delay-ms', '20000');
      const joining = failureOf(join());
      await until(() => host.joins() === 1);
      sshd.losePower();
      expect(await joining).toMatchObject({ class: 'retryable', code: 'JOIN_INTERRUPTED' });
      expect(api.secrets.names()).toEqual([]);
    });

    it('when the request that creates it is carried out and never answered', {
      tags: ['extended'],
    }, async () => {
      api.fail({ request: /^POST .*secrets/, how: 'drop-after' });
      expect(await failureOf(join())).toMatchObject({ class: 'retryable', code: 'CLUSTER_UNAVAILABLE' });
      expect(api.secrets.names()).toEqual([]);
      expect(host.joins()).toBe(0);
    });

    it('when removing it fails at first', { tags: ['extended'] }, async () => {
      api.fail({ request: /^DELETE .*secrets/, how: { status: 503 }, times: 2 });
      await join();
      expect(api.secrets.names()).toEqual([]);
    });

    it('of an attempt that died before it ran kubeadm, once the next one runs', {
      tags: ['extended'],
    }, async () => {
      // What a process leaves that dies between the two: the token, and nothing on the host.
      host.control('delay-ms', '500');
      const joining = join();
      const left = await theSecret();
      await joining;
      api.nodes.delete('m-1');
      host.wipe();
      api.secrets.create(left);
      await join({ key: 'op-7/join/2', fence: 2 });
      expect(api.secrets.names()).toEqual([]);
    });

    it('of an attempt that died after kubeadm was done, once it is observed', {
      tags: ['extended'],
    }, async () => {
      host.control('delay-ms', '500');
      const joining = join();
      const left = await theSecret();
      await joining;
      api.secrets.create(left);
      expect(await membership({ fence: 2 })).toMatchObject({ joined: true });
      expect(api.secrets.names()).toEqual([]);
    });

    it('but does not touch that of a later holder, nor that of another operation', async () => {
      const put = (name: string, operation: string, fence: string) =>
        api.secrets.create({
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: {
            name,
            labels: { 'ingot.dev/operation': operation },
            annotations: { 'ingot.dev/fence': fence },
          },
        });
      put('bootstrap-token-later1', 'op-7', '5');
      put('bootstrap-token-other1', 'op-9', '1');
      await join({ fence: 4 });
      expect(api.secrets.names()).toEqual(['bootstrap-token-later1', 'bootstrap-token-other1']);
    });
  });

  it('reports when a token could not be removed', { tags: ['extended'] }, async () => {
    api.fail({ request: /^DELETE .*secrets/, how: { status: 503 }, times: 9 });
    const call = await join();
    expect(call.lines.at(-1)).toMatchObject({ stream: 'stderr' });
    expect(call.lines.at(-1)?.text).toMatch(/^bootstrap-token-\w{6} could not be removed .* expires/);
  });

  it('takes another token id when one is taken', { tags: ['extended'] }, async () => {
    api.fail({ request: /^POST .*secrets/, how: { status: 409 } });
    await join();
    expect(await membership()).toMatchObject({ joined: true });
  });

  it('that goes on after its connection was cut is waited for, and not started twice', {
    tags: ['extended'],
  }, async () => {
    host.control('delay-ms', '2500');
    const joining = failureOf(join());
    await until(() => host.joins() === 1);
    sshd.cutConnections();
    expect(await joining).toMatchObject({ class: 'retryable', code: 'JOIN_INTERRUPTED' });
    expect(await membership()).toMatchObject({ joined: false, pending: true });
    await join({ key: 'op-7/join/2' });
    expect(host.joins()).toBe(1);
    // Its token is gone by then, so it fails; the attempt after that repairs it.
    await until(async () => !(await membership()).pending);
    host.control('delay-ms', '0');
    await join({ key: 'op-7/join/3' });
    expect(await membership()).toMatchObject({ joined: true });
  });

  describe('is refused', () => {
    it('where the cluster is not configured', async () => {
      const failure = await failureOf(site.can.cluster.join(callFor(machine()), 'cluster-z'));
      expect(failure).toMatchObject({ class: 'permanent', code: 'UNKNOWN_CLUSTER' });
    });

    it('where the machine’s id can’t be a node’s name', async () => {
      const named = machineAt(sshd.endpoint, { machineId: 'M_1' });
      const failure = await failureOf(site.can.cluster.join(callFor(named), 'cluster-a'));
      expect(failure).toMatchObject({ class: 'permanent', code: 'NODE_NAME_INVALID' });
      expect(failure.message).toContain('ingot/node-name');
    });

    it('where the host is in a cluster that does not know it', { tags: ['extended'] }, async () => {
      await join();
      api.nodes.delete('m-1');
      expect(await failureOf(join())).toMatchObject({
        class: 'needs_human',
        code: 'HOST_IN_ANOTHER_CLUSTER',
      });
      expect(host.joins()).toBe(1);
      expect(host.resets()).toBe(0);
    });

    it('where another Ready node has the name', { tags: ['extended'] }, async () => {
      api.setNode('m-1', 'Ready');
      expect(await failureOf(join())).toMatchObject({ class: 'retryable', code: 'NODE_NAME_TAKEN' });
      expect(host.joins()).toBe(0);
    });

    it('where we may not create tokens', { tags: ['extended'] }, async () => {
      vi.stubEnv('INGOT_TEST_TOKEN', api.readerToken);
      const clusters = clustersOf(api, { token_file: undefined, token_env: 'INGOT_TEST_TOKEN' });
      const reader = createSite(sshd, { clusters, hostFiles: host.files });
      const failure = await failureOf(reader.can.cluster.join(callFor(machine()), 'cluster-a'));
      expect(failure).toMatchObject({ class: 'needs_human', code: 'CLUSTER_FORBIDDEN' });
      expect(failure.message).toContain('cannot list resource "secrets"');
      expect(JSON.stringify(failure)).not.toContain(api.readerToken);
      reader.remove();
    });

    it('by a replica that has lost the operation: nothing is minted', async () => {
      let asked = 0;
      const checkHeld = () => {
        asked++;
        // Probing the host is allowed; what comes after it is not.
        if (asked > 1) throw new Error('no longer ours');
      };
      await expect(join({ checkHeld })).rejects.toThrow('no longer ours');
      expect(api.requests.some((line) => line.startsWith('POST'))).toBe(false);
    });
  });

  it('is not trusted to a server whose CA is another one: kubeadm refuses', async () => {
    const other = await startApiServer();
    const clusters = clustersOf(api, { join_endpoint: `127.0.0.1:${other.port}` });
    const wrong = createSite(sshd, { clusters, hostFiles: host.files });
    const failure = await failureOf(wrong.can.cluster.join(callFor(machine()), 'cluster-a'));
    expect(failure).toMatchObject({ class: 'retryable', code: 'JOIN_FAILED' });
    expect(failure.message).toContain('could not find a JWS signature');
    wrong.remove();
    await other.stop();
  });
});
