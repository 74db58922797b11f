import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Cluster, Clusters } from '../../src/clusters/clusters.ts';
import { probeCluster } from '../../src/clusters/node-control.ts';
import { freePort } from '../parts/free-port.ts';
import { type ApiServer, startApiServer } from '../parts/kubernetes/api-server.ts';
import { createAuthority } from '../parts/kubernetes/certificates.ts';
import { clustersOf, failureOf, machineAt } from './site.ts';

let api: ApiServer;
let dir: string;
const { signal } = new AbortController();
const only = (clusters: Clusters): Cluster => clusters.get('cluster-a') as Cluster;

beforeAll(async () => {
  api = await startApiServer();
  dir = mkdtempSync(join(tmpdir(), 'ingot-cluster-api-'));
});
afterEach(() => {
  api.clearFaults();
  api.requests.length = 0;
  for (const name of api.nodes.names()) api.nodes.delete(name);
});
afterAll(async () => {
  await api.stop();
  rmSync(dir, { recursive: true, force: true });
});

describe('a request to a cluster', () => {
  it('reports whether a node is Ready, not Ready, or absent', async () => {
    const { api: cluster } = only(clustersOf(api));
    expect(await cluster.node('m-1', signal)).toBeNull();
    api.setNode('m-1', 'NotReady');
    expect(await cluster.node('m-1', signal)).toMatchObject({ ready: false, reason: 'NodeStatusUnknown' });
    api.setNode('m-1', 'Ready');
    expect(await cluster.node('m-1', signal)).toMatchObject({ ready: true });
  });

  it('is known by a client certificate as well', async () => {
    const { certificateFile, keyFile } = api.authority.issue('ingot', 'client');
    const credentials = {
      token_file: undefined,
      client_certificate_file: certificateFile,
      client_key_file: keyFile,
    };
    api.setNode('m-1', 'Ready');
    const { api: cluster } = only(clustersOf(api, credentials));
    expect(await cluster.node('m-1', signal)).toMatchObject({ ready: true });
  });

  it('uses a token that was replaced in its file', async () => {
    const file = join(dir, 'rotated');
    writeFileSync(file, 'wrong');
    const { api: cluster } = only(clustersOf(api, { token_file: file }));
    expect(await failureOf(cluster.node('m-1', signal))).toMatchObject({
      class: 'needs_human',
      code: 'CLUSTER_UNAUTHORIZED',
    });
    writeFileSync(file, api.token);
    expect(await cluster.node('m-1', signal)).toBeNull();
    rmSync(file);
    expect(await failureOf(cluster.node('m-1', signal))).toMatchObject({
      class: 'needs_human',
      code: 'CREDENTIAL_UNREADABLE',
    });
  });

  it.each([
    [{ status: 429 }, 'retryable', 'CLUSTER_UNAVAILABLE'],
    [{ status: 500 }, 'retryable', 'CLUSTER_UNAVAILABLE'],
    [{ status: 503 }, 'retryable', 'CLUSTER_UNAVAILABLE'],
    [{ status: 401 }, 'needs_human', 'CLUSTER_UNAUTHORIZED'],
    [{ status: 403 }, 'needs_human', 'CLUSTER_FORBIDDEN'],
    [{ status: 422 }, 'permanent', 'CLUSTER_REFUSED'],
    ['drop', 'retryable', 'CLUSTER_UNAVAILABLE'],
    [{ slowMs: 5_000 }, 'retryable', 'CLUSTER_UNAVAILABLE'],
  ] as const)('that meets %o fails as %s', async (how, failureClass, code) => {
    const { api: cluster } = only(clustersOf(api, { request_timeout_seconds: 1 }));
    api.fail({ request: /nodes/, how });
    const failure = await failureOf(cluster.node('m-1', signal));
    expect(failure).toMatchObject({ class: failureClass, code });
    expect(failure.message).toContain('cluster-a');
    expect(failure.message).not.toContain(api.token);
    expect(failure.message).not.toContain('\n');
  });

  it('to a server that is not there may be made again', async () => {
    const { api: cluster } = only(clustersOf(api, { server: `https://127.0.0.1:${await freePort()}` }));
    const failure = await failureOf(cluster.node('m-1', signal));
    expect(failure).toMatchObject({ class: 'retryable', code: 'CLUSTER_UNAVAILABLE' });
    expect(failure.message).toContain('not reachable (connection refused)');
  });

  it('to a server that its CA does not vouch for is not made, whatever NODE_TLS_REJECT_UNAUTHORIZED says', async () => {
    const { caFile } = createAuthority(dir, 'other');
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    const { api: cluster } = only(clustersOf(api, { ca_file: caFile }));
    const failure = await failureOf(cluster.node('m-1', signal));
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    expect(failure).toMatchObject({ class: 'needs_human', code: 'CLUSTER_CERTIFICATE_INVALID' });
    expect(api.requests).toEqual([]);
  });

  it('ends at once when its caller is stopped', async () => {
    const { api: cluster } = only(clustersOf(api));
    api.fail({ request: /nodes/, how: { slowMs: 5_000 } });
    const startedAt = performance.now();
    await expect(cluster.node('m-1', AbortSignal.timeout(300))).rejects.toThrow(/timeout/);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });
});

describe('probes of the nodes of machines', () => {
  const fleet = (count: number) =>
    Array.from({ length: count }, (_, index) => machineAt('', { machineId: `m-${index}` }));

  it('cost one reading of the list, however many there are, for ten seconds', async () => {
    let now = 0;
    const clusters = clustersOf(api, {}, () => now);
    for (let index = 0; index < 1_200; index++) api.setNode(`m-${index}`, index % 2 ? 'Ready' : 'NotReady');
    const results = await Promise.all(fleet(1_300).map((machine) => probeCluster(clusters, machine, signal)));
    const counts = (reason: string) => results.filter((result) => result?.reason === reason).length;
    expect([counts('NodeReady'), counts('NodeNotReady'), counts('NotJoined')]).toEqual([600, 600, 100]);
    // Three pages of at most 500.
    expect(api.requests).toHaveLength(3);
    now += 9_000;
    await probeCluster(clusters, machineAt('', { machineId: 'm-1' }), signal);
    expect(api.requests).toHaveLength(3);
    now += 2_000;
    await probeCluster(clusters, machineAt('', { machineId: 'm-1' }), signal);
    expect(api.requests).toHaveLength(6);
  });

  it('share a failure too, and say nothing of the machine', async () => {
    let now = 0;
    const clusters = clustersOf(api, {}, () => now);
    api.fail({ request: /nodes/, how: { status: 503 } });
    const results = await Promise.allSettled(
      fleet(50).map((machine) => probeCluster(clusters, machine, signal)),
    );
    expect(results.every(({ status }) => status === 'rejected')).toBe(true);
    expect(api.requests).toHaveLength(1);
    now += 11_000;
    expect(await probeCluster(clusters, machineAt(''), signal)).toMatchObject({ reason: 'NotJoined' });
  });

  it('begin the list again when the server has forgotten the place in it', async () => {
    for (let index = 0; index < 600; index++) api.setNode(`m-${index}`, 'Ready');
    api.fail({ request: /continue=/, how: { status: 410 } });
    const result = await probeCluster(clustersOf(api), machineAt('', { machineId: 'm-599' }), signal);
    expect(result).toMatchObject({ ok: true });
    expect(api.requests).toHaveLength(4);
  });

  it('can be stopped one by one', async () => {
    const clusters = clustersOf(api);
    api.setNode('m-1', 'Ready');
    api.fail({ request: /nodes/, how: { slowMs: 500 } });
    const stopped = probeCluster(clusters, machineAt(''), AbortSignal.timeout(50));
    const other = probeCluster(clusters, machineAt(''), signal);
    await expect(stopped).rejects.toThrow();
    expect(await other).toMatchObject({ ok: true });
    expect(api.requests).toHaveLength(1);
  });

  it('know of machines that are meant for no cluster, for an unknown one, or have no fit name', async () => {
    const clusters = clustersOf(api);
    const machine = machineAt('');
    const meantFor = (ref: string) => ({ ...machine, spec: { ...machine.spec, target_cluster_ref: ref } });
    expect(await probeCluster(clusters, meantFor(''), signal)).toBeNull();
    expect(await probeCluster(clusters, meantFor('cluster-z'), signal)).toMatchObject({
      reason: 'UnknownCluster',
    });
    const unfit = machineAt('', { machineId: 'M_1' });
    expect(await probeCluster(clusters, unfit, signal)).toMatchObject({ reason: 'NodeNameInvalid' });
    expect(api.requests).toEqual([]);
  });
});
