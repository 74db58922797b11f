/** UPGRADE and NET_RECONFIG as a client starts them, on a host behind a real sshd and a node behind a cluster's API. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { clustersConfiguration } from '../../src/clusters/cluster-configuration.ts';
import { UPGRADE_KUBELET } from '../../src/domain/operation/kubelet-upgrade.ts';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { conditionOf, fresh, get } from '../api/fleet.ts';
import {
  newPlan,
  run,
  runAt,
  runEnded,
  runPhase,
  startRun,
  stepStates,
  type V1,
  v1Of,
} from '../api-v1/runs.ts';
import { needs } from '../parts/debian-packages.ts';
import { type ApiServer, startApiServer } from '../parts/kubernetes/api-server.ts';
import { createRecordingHost, type RecordingHost } from '../parts/recording-host.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { type Sshd, startSshd } from '../parts/sshd.ts';
import { until } from '../parts/until.ts';

const PACKAGING = ['dpkg', 'apt-mark', 'apt-get'];
const programs = needs('sshd');

describe.skipIf(programs.isMissing)(programs.title('on a datacenter’s machine'), () => {
  let api: ApiServer;
  let host: RecordingHost;
  let sshd: Sshd;
  let server: TestServer;
  let v1: V1;
  let machineId: string;

  beforeAll(async () => {
    api = await startApiServer();
    host = createRecordingHost(['kubeadm', 'kubectl', 'ip', 'netplan', 'systemctl']);
    sshd = await startSshd({ env: host.env });
    const ssh = { user: sshd.user, private_key_file: sshd.keyFile, insecure_accept_any: true };
    server = await startTestServer({
      providers: { 'dc-1': datacenterConfiguration.parse({ kind: 'datacenter', ssh }) },
      clusters: clustersConfiguration.parse({
        'cluster-a': { server: api.url, ca_file: api.authority.caFile, token_file: api.tokenFile },
      }),
    });
    v1 = v1Of(server);
    machineId = fresh('dc-machine');
    const spec = { provider: 'dc-1', sshEndpoint: sshd.endpoint, targetClusterRef: 'cluster-a' };
    await server.machines.registerMachine({ machine: { machineId, spec } });
  });
  beforeEach(() => {
    api.setNode(machineId, 'Ready');
    api.pods.add({ node: machineId, name: 'web-1', labels: { app: 'web' } });
    api.pods.add({ node: machineId, name: 'proxy', namespace: 'kube-system', owner: 'DaemonSet' });
  });
  afterEach(() => {
    api.pods.clear();
    api.clearFaults();
    for (const name of api.nodes.names()) api.nodes.delete(name);
    api.authorized.length = 0;
    host.forgetCalls();
  });
  afterAll(async () => {
    await server?.stop();
    await sshd.stop();
    await api.stop();
    host.remove();
  });

  const cordoned = () => api.isCordoned(machineId);

  describe('an UPGRADE', () => {
    it('drains through the cluster with its credentials, upgrades over SSH, and lets work come again', async () => {
      const done = await run(v1, 'UPGRADE', machineId);
      expect([runPhase(done), stepStates(done)]).toEqual(['SUCCEEDED', Array(6).fill('SUCCEEDED')]);
      expect(host.calls()).toEqual([
        'kubeadm upgrade node',
        'systemctl daemon-reload',
        'systemctl restart kubelet',
        'systemctl is-active kubelet',
      ]);
      expect(done.steps[0]?.message).toBe(`${machineId} (kubelet v1.31.2) takes no new work`);
      expect(api.pods.evicted).toEqual(['default/web-1']);
      expect(api.pods.names()).toEqual(['kube-system/proxy']);
      const changes = api.authorized.filter(({ request }) => !request.startsWith('GET'));
      expect(changes.map(({ request }) => request)).toEqual([
        `PATCH /api/v1/nodes/${machineId}`,
        'POST /api/v1/namespaces/default/pods/web-1/eviction',
        `PATCH /api/v1/nodes/${machineId}`,
      ]);
      expect(new Set(api.authorized.map(({ authorization }) => authorization))).toEqual(
        new Set([`Bearer ${api.token}`]),
      );
      expect(cordoned()).toBe(false);
      const machine = await get(server, machineId);
      expect(conditionOf(machine, 'InCustomerCluster')).toMatchObject({ status: true, reason: 'NodeReady' });
      expect(conditionOf(machine, 'Drained')).toMatchObject({ status: false, reason: 'NodeTakesWork' });
    });

    it('upgrades kubeadm before the node’s configuration, and the kubelet after it; a hold stays', async () => {
      const { planId } = await newPlan(server, [
        { name: 'upgrade', kind: { case: 'ssh', value: { command: UPGRADE_KUBELET, repeatable: true } } },
      ]);
      for (const program of PACKAGING) host.installProgram(program);
      const done = await run(v1, 'UPGRADE', machineId, { planId });
      for (const program of PACKAGING) host.removeProgram(program);
      expect(runPhase(done)).toBe('SUCCEEDED');
      const packaging = (name: string) => [
        `dpkg -s ${name}`,
        `apt-mark showhold ${name}`,
        'apt-get update',
        `apt-get install -y --only-upgrade --allow-change-held-packages ${name}`,
        `apt-mark hold ${name}`,
      ];
      expect(host.calls()).toEqual([
        ...packaging('kubeadm'),
        'kubeadm upgrade node',
        ...packaging('kubelet'),
      ]);
    });

    it('upgrades nothing before the node was seen drained', async () => {
      api.pods.endsAfterMs = null;
      const { runId } = await startRun(v1, 'UPGRADE', machineId);
      const waiting = await until(
        () => server.operations.getOperation({ operationId: runId }),
        ({ waitingFor }) => waitingFor === `waiting for 1 workload to leave ${machineId}`,
      );
      expect(waiting.currentStep).toBe('drain');
      expect([cordoned(), host.calls()]).toEqual([true, []]);
      expect(conditionOf(await get(server, machineId), 'Drained')?.status).toBe(false);
      await v1.runs.cancelRun({ runId });
      expect(runPhase(await runEnded(v1, { runId }))).toBe('CANCELED');
      // What the run cordoned, its cancel uncordons.
      expect(cordoned()).toBe(false);
    });

    it('says which budget blocks its drain, until the limit', { tags: ['extended'] }, async () => {
      api.pods.budgets.push({ name: 'web-budget', namespace: 'default', app: 'web', allowed: 0 });
      const { planId } = await newPlan(server, [
        {
          name: 'drain',
          timeoutSeconds: 1,
          maxRetries: 0,
          kind: { case: 'cluster', value: { action: 'drain' } },
        },
        { name: 'upgrade-kubelet', kind: { case: 'ssh', value: { command: 'kubeadm upgrade node' } } },
      ]);
      const failed = await run(v1, 'UPGRADE', machineId, { planId });
      expect([runPhase(failed), stepStates(failed)]).toEqual(['FAILED', ['FAILED', 'WAITING']]);
      expect(failed.error).toMatchObject({ code: 'TIMED_OUT', details: { step: 'drain' } });
      expect(failed.error?.message).toContain('The disruption budget web-budget needs 1 healthy pods');
      expect([api.pods.evicted, host.calls()]).toEqual([[], []]);
      expect(conditionOf(await get(server, machineId), 'Drained')?.status).not.toBe(true);
    });

    it('fails where the node does not come back', { tags: ['extended'] }, async () => {
      const { planId } = await newPlan(server, [
        { name: 'cordon', kind: { case: 'cluster', value: { action: 'cordon' } } },
        { name: 'restart-kubelet', kind: { case: 'ssh', value: { command: 'systemctl restart kubelet' } } },
        { name: 'uncordon', kind: { case: 'cluster', value: { action: 'uncordon' } } },
        { name: 'verify', timeoutSeconds: 1, maxRetries: 0, kind: { case: 'verify', value: {} } },
      ]);
      host.hold('systemctl');
      const { runId } = await startRun(v1, 'UPGRADE', machineId, { planId });
      await until(
        async () => host.calls(),
        (calls) => calls.length > 0,
      );
      api.setNode(machineId, 'NotReady');
      host.letGo('systemctl');
      const failed = await runEnded(v1, { runId });
      expect(stepStates(failed)).toEqual(['SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED', 'FAILED']);
      expect(failed.error?.message).toContain('waiting for the node to be Ready in cluster-a');
      expect(conditionOf(await get(server, machineId), 'NeedsIntervention')?.status).toBe(true);
    });

    it('that is canceled while the host upgrades lets work come again', { tags: ['extended'] }, async () => {
      host.hold('kubeadm');
      const { runId } = await startRun(v1, 'UPGRADE', machineId);
      await runAt(v1, { runId }, 'upgrade-kubelet');
      await until(
        async () => host.calls(),
        (calls) => calls.includes('kubeadm upgrade node'),
      );
      expect(cordoned()).toBe(true);
      await v1.runs.cancelRun({ runId });
      expect(runPhase(await runEnded(v1, { runId }))).toBe('CANCELED');
      host.letGo('kubeadm');
      expect(cordoned()).toBe(false);
    });

    it('leaves a node cordoned that its owner had cordoned', { tags: ['extended'] }, async () => {
      api.nodes.put({ ...api.nodes.get(machineId), spec: { unschedulable: true } });
      const done = await run(v1, 'UPGRADE', machineId);
      expect(runPhase(done)).toBe('SUCCEEDED');
      expect(done.steps.find(({ name }) => name === 'uncordon')?.message).toContain('stays cordoned');
      expect(cordoned()).toBe(true);
      expect(conditionOf(await get(server, machineId), 'InCustomerCluster')?.reason).toBe('NodeCordoned');
    });

    it('fails at once where the cluster has no such node', async () => {
      api.nodes.delete(machineId);
      const failed = await run(v1, 'UPGRADE', machineId);
      expect(failed.error).toMatchObject({ code: 'NODE_NOT_FOUND', retryable: false });
      expect(host.calls()).toEqual([]);
      api.setNode(machineId, 'Ready');
    });

    it('runs a command again whose connection broke', { tags: ['extended'] }, async () => {
      host.hold('kubeadm');
      const { runId } = await startRun(v1, 'UPGRADE', machineId);
      await until(
        async () => host.calls(),
        (calls) => calls.includes('kubeadm upgrade node'),
      );
      sshd.cutConnections();
      host.letGo('kubeadm');
      const done = await runEnded(v1, { runId });
      expect(runPhase(done)).toBe('SUCCEEDED');
      expect(done.steps.find(({ name }) => name === 'upgrade-kubelet')?.retryCount).toBe(1);
      expect(host.calls().filter((call) => call === 'kubeadm upgrade node')).toHaveLength(2);
    });
  });

  describe('a NET_RECONFIG', () => {
    it('applies what is on the host, and shows what the host has then', async () => {
      const done = await run(v1, 'NET_RECONFIG', machineId);
      expect([runPhase(done), stepStates(done)]).toEqual(['SUCCEEDED', ['SUCCEEDED', 'SUCCEEDED']]);
      expect(host.calls()).toEqual(['netplan apply', 'ip -brief address', 'ip route']);
      expect(api.authorized).toEqual([]);
    });

    it('fails where netplan does, and says with what', async () => {
      const { planId } = await newPlan(server, [
        { name: 'apply', maxRetries: 0, kind: { case: 'net', value: { action: 'apply' } } },
      ]);
      host.exitWith('netplan', 78);
      const failed = await run(v1, 'NET_RECONFIG', machineId, { planId });
      host.exitWith('netplan', 0);
      expect(failed.error).toMatchObject({ code: 'COMMAND_FAILED', message: 'netplan exited with 78' });
    });

    it('of a host without netplan is not tried again', async () => {
      host.removeProgram('netplan');
      const failed = await run(v1, 'NET_RECONFIG', machineId);
      host.installProgram('netplan');
      expect(failed.error).toMatchObject({ code: 'NETPLAN_MISSING', retryable: false });
      expect(failed.steps[0]?.retryCount).toBe(0);
    });
  });
});
