/** Hosts, BMCs and clusters that do not answer for a while are waited for: nothing fails, and no retry is used up. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clustersConfiguration } from '../../src/clusters/cluster-configuration.ts';
import type { Operation } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { fresh, phaseOf } from '../api/fleet.ts';
import { newPlan, startRun, v1Of } from '../api-v1/runs.ts';
import { needs } from '../parts/debian-packages.ts';
import { type IpmiBmc, startBmc } from '../parts/ipmi.ts';
import { type ApiServer, startApiServer } from '../parts/kubernetes/api-server.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { type Sshd, startSshd } from '../parts/sshd.ts';
import { until } from '../parts/until.ts';
import { bmcFields } from './bmc-site.ts';

const programs = needs('sshd', 'ipmi');

const PATIENCE_MS = 40_000;

describe.skipIf(programs.isMissing)(programs.title('an upstream that does not answer'), () => {
  let sshd: Sshd;
  let bmc: IpmiBmc;
  let api: ApiServer;
  let server: TestServer;

  beforeAll(async () => {
    sshd = await startSshd();
    bmc = await startBmc();
    api = await startApiServer();
    const configuration = datacenterConfiguration.parse({
      kind: 'datacenter',
      ssh: { user: sshd.user, private_key_file: sshd.keyFile, insecure_accept_any: true },
      bmc: bmcFields(bmc),
    });
    const cluster = { server: api.url, ca_file: api.authority.caFile, token_file: api.tokenFile };
    server = await startTestServer({
      providers: { 'dc-1': configuration },
      clusters: clustersConfiguration.parse({ east: cluster }),
      repeatActMs: 200,
    });
  });
  afterAll(async () => {
    await server?.stop();
    await sshd?.stop();
    await bmc?.stop();
    await api?.stop();
  });

  type Steps = Parameters<typeof newPlan>[1];

  /** Starts a plan of one step on a new machine; `read` is the operation as it is. */
  async function begin(kind: NonNullable<NonNullable<Steps>[number]['kind']>, spec: Record<string, string>) {
    const { planId } = await newPlan(server, [{ name: 'work', kind, timeoutSeconds: 60, maxRetries: 0 }]);
    const machineId = fresh('outage');
    await server.machines.registerMachine({ machine: { machineId, spec: { provider: 'dc-1', ...spec } } });
    const { runId } = await startRun(v1Of(server), 'REBOOT', machineId, { planId });
    const operationId = `op-${runId.replace(/^(?:op|run)-/, '').toLowerCase()}`;
    const read = () => server.operations.getOperation({ operationId });
    return { machineId, read };
  }

  async function isWaitedFor(read: () => Promise<Operation>, words: RegExp): Promise<void> {
    const seen = await until(
      read,
      ({ waitingFor, finishedAt }) => waitingFor.includes('to answer since') || finishedAt !== undefined,
      PATIENCE_MS,
    );
    expect(seen.waitingFor).toMatch(words);
    expect(seen.steps[0]?.message).toBe(seen.waitingFor);
  }

  async function succeeds(read: () => Promise<Operation>): Promise<void> {
    const ended = await until(read, ({ finishedAt }) => finishedAt !== undefined, PATIENCE_MS);
    expect([phaseOf(ended), ended.error?.message, ended.steps[0]?.retryCount]).toEqual([
      'SUCCEEDED',
      undefined,
      0,
    ]);
  }

  it(
    'a host: a command that may run only once is run when sshd is back',
    async () => {
      await sshd.goAway();
      const work = await begin({ case: 'ssh', value: { command: 'true' } }, { sshEndpoint: sshd.endpoint });
      await isWaitedFor(
        work.read,
        /^waiting for the SSH host to answer since \d{4}-\S+Z \(127\.0\.0\.1:\d+\)$/,
      );
      await sshd.comeBack();
      await succeeds(work.read);
    },
    PATIENCE_MS,
  );

  it(
    'a BMC',
    async () => {
      bmc.freeze();
      const work = await begin({ case: 'netboot', value: { mode: 'PXE' } }, { bmcEndpoint: bmc.endpoint });
      await isWaitedFor(work.read, /^waiting for the BMC to answer since \d{4}-\S+Z \(127\.0\.0\.1:\d+\)$/);
      bmc.thaw();
      await succeeds(work.read);
    },
    PATIENCE_MS,
  );

  it(
    'a cluster',
    async () => {
      await api.goAway();
      const work = await begin(
        { case: 'verify', value: { clusterRef: 'east' } },
        { sshEndpoint: '127.0.0.1:1', targetClusterRef: 'east' },
      );
      await isWaitedFor(work.read, /^waiting for the cluster to answer since \d{4}-\S+Z \(east\)$/);
      api.setNode(work.machineId, 'Ready');
      await api.comeBack();
      await succeeds(work.read);
    },
    PATIENCE_MS,
  );
});
