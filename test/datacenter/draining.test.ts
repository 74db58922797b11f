// @module-tag extended: cluster-api.test.ts has the cluster; maas/decommission.test.ts drains.
/** Draining a node through its cluster's API: what is evicted, what stays, what is waited for, and whose a cordon is. */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createNodeControl, probeCluster } from '../../src/clusters/node-control.ts';
import type { Machine } from '../../src/domain/machine/machine.ts';
import type { MachineChange } from '../../src/domain/machine/machine-change.ts';
import type { StepHandler } from '../../src/engine/step-handler.ts';
import { NO_CONTROL_PLANE } from '../../src/steps/control-plane.fixture.ts';
import { rmaAction } from '../../src/steps/hardware/rma-action.ts';
import { type ApiServer, startApiServer } from '../parts/kubernetes/api-server.ts';
import { type Attempt, attemptOf } from './attempt.ts';
import { callFor, clustersOf, failureOf, machineAt } from './site.ts';

let api: ApiServer;
const { signal } = new AbortController();

beforeAll(async () => {
  api = await startApiServer();
});
beforeEach(() => {
  api.setNode('m-1', 'Ready');
});
afterEach(() => {
  api.clearFaults();
  api.pods.clear();
  for (const name of api.nodes.names()) api.nodes.delete(name);
  api.requests.length = 0;
});
afterAll(() => api.stop());

const control = () => createNodeControl(clustersOf(api));
const call = (operation: string, fields = {}) =>
  callFor(machineAt(''), { key: `${operation}/work/1`, ...fields });
const evictions = () => api.requests.filter((request) => request.endsWith('/eviction'));

/** The step of an RMA that drains, driven by hand. */
function drainCheck(machine: Machine = machineAt('')): {
  handler: StepHandler<MachineChange>;
  attempt: Attempt;
} {
  const handler = rmaAction.handler(
    { action: 'drain-check' },
    { machine, capabilities: { cluster: control() } as never, controlPlane: NO_CONTROL_PLANE },
  );
  return { handler, attempt: attemptOf('drain-check', 1) };
}

/** One pass of the engine. */
async function pass({ handler, attempt: { context } }: ReturnType<typeof drainCheck>) {
  const seen = await handler.observe(context);
  return seen.seen === 'absent' ? handler.act(context) : seen;
}

describe('a drain', () => {
  it('moves workloads away, and leaves what belongs to the node', async () => {
    api.pods.add({ node: 'm-1', name: 'web-1' });
    api.pods.add({ node: 'm-1', name: 'db-0', namespace: 'data', owner: 'StatefulSet' });
    api.pods.add({ node: 'm-1', name: 'alone', owner: 'none' });
    api.pods.add({ node: 'm-1', name: 'proxy-x', namespace: 'kube-system', owner: 'DaemonSet' });
    api.pods.add({ node: 'm-1', name: 'etcd-m-1', namespace: 'kube-system', owner: 'none', mirror: true });
    api.pods.add({ node: 'm-1', name: 'job-done', phase: 'Succeeded' });
    api.pods.add({ node: 'm-2', name: 'elsewhere' });
    const draining = drainCheck();
    expect(await pass(draining)).toMatchObject({ result: 'started' });
    expect(api.isCordoned('m-1')).toBe(true);
    expect(api.pods.evicted.toSorted()).toEqual(['data/db-0', 'default/alone', 'default/web-1']);
    expect(await pass(draining)).toMatchObject({
      seen: 'done',
      message: 'm-1 is cordoned and drained',
      change: {
        conditions: [
          { type: 'InCustomerCluster', status: true, reason: 'NodeCordoned' },
          { type: 'Drained', status: true, reason: 'NodeDrained' },
        ],
      },
    });
    expect(draining.attempt.logged).toContain(
      'Evicted default/alone, which has no controller: nothing starts it elsewhere',
    );
  });

  it('waits for pods that take their time to end, and asks each of them once', async () => {
    api.pods.endsAfterMs = null;
    api.pods.add({ node: 'm-1', name: 'slow' });
    const draining = drainCheck();
    await pass(draining);
    expect(await pass(draining)).toMatchObject({
      seen: 'under_way',
      reason: 'waiting for 1 workload to leave m-1',
    });
    expect(evictions()).toEqual(['POST /api/v1/namespaces/default/pods/slow/eviction']);
  });

  it('keeps to disruption budgets: it says which refuses, waits, and asks again', async () => {
    api.pods.add({ node: 'm-1', name: 'web-1', labels: { app: 'web' } });
    api.pods.add({ node: 'm-1', name: 'other' });
    const budget = { name: 'web-budget', namespace: 'default', app: 'web', allowed: 0 };
    api.pods.budgets.push(budget);
    const draining = drainCheck();
    const refused = {
      result: 'started',
      reason:
        "default/web-1 may not leave yet: Cannot evict pod as it would violate the pod's disruption budget. " +
        'The disruption budget web-budget needs 1 healthy pods and has 1 currently',
      pollAfterMs: 5_000,
    };
    expect(await pass(draining)).toMatchObject(refused);
    expect(await pass(draining)).toMatchObject(refused);
    expect(api.pods.evicted).toEqual(['default/other']);
    budget.allowed = 1;
    await pass(draining);
    expect(await pass(draining)).toMatchObject({ seen: 'done' });
  });

  it('does not evict a pod that took the name of another meanwhile', async () => {
    api.pods.add({ node: 'm-1', name: 'db-0', owner: 'StatefulSet' });
    const cluster = clustersOf(api).get('cluster-a')?.api;
    const [listed] = (await cluster?.workloads('m-1', signal)) ?? [];
    if (!cluster || !listed) throw new Error('the pod is not listed');
    api.pods.add({ node: 'm-2', name: 'db-0', owner: 'StatefulSet' });
    await cluster.evict(listed, signal);
    expect(api.pods.evicted).toEqual([]);
  });

  it('of a node that its cluster has lost cordons it, asks, and goes on without calling it drained', async () => {
    api.pods.endsAfterMs = null;
    api.pods.add({ node: 'm-1', name: 'stuck' });
    api.setNode('m-1', 'NotReady');
    const draining = drainCheck();
    await pass(draining);
    const seen = await pass(draining);
    expect(seen).toMatchObject({
      seen: 'done',
      change: { conditions: [{ status: false }, { status: false }] },
    });
    expect([api.isCordoned('m-1'), api.pods.evicted]).toEqual([true, ['default/stuck']]);
  });

  it('of a machine that is in no cluster, or not in its own, has nothing to do', async () => {
    api.nodes.delete('m-1');
    expect(await pass(drainCheck())).toMatchObject({
      seen: 'done',
      message: 'nothing runs on the machine: cluster-a has no node m-1',
    });
    const machine = machineAt('');
    const homeless = { ...machine, spec: { ...machine.spec, target_cluster_ref: '' } };
    expect(await pass(drainCheck(homeless))).toMatchObject({ seen: 'done' });
  });

  it('of a cluster that is not configured is refused: what runs there can’t be known', async () => {
    const machine = machineAt('');
    const lost = { ...machine, spec: { ...machine.spec, target_cluster_ref: 'cluster-z' } };
    expect(await failureOf(pass(drainCheck(lost)))).toMatchObject({
      class: 'permanent',
      code: 'UNKNOWN_CLUSTER',
    });
  });

  it('with credentials that may only read nodes says what is missing', async () => {
    api.fail({ request: /^PATCH/, how: { status: 403 } });
    expect(await failureOf(pass(drainCheck()))).toMatchObject({
      class: 'needs_human',
      code: 'CLUSTER_FORBIDDEN',
    });
  });
});

describe('a cordon', () => {
  it('is taken back by the operation that made it, and by no other', async () => {
    await control().cordon(call('op-1'), 'cluster-a');
    expect(api.nodes.get('m-1').metadata.annotations).toEqual({ 'ingot.dev/cordon': 'made-by-op-1' });
    expect(await control().uncordon(call('op-2'), 'cluster-a', 'own')).toBe(false);
    expect(api.isCordoned('m-1')).toBe(true);
    expect(await control().uncordon(call('op-1'), 'cluster-a', 'own')).toBe(true);
    expect(api.isCordoned('m-1')).toBe(false);
    expect(api.nodes.get('m-1').metadata.annotations).toEqual({});
  });

  it('that someone else made stays theirs, however the operation ends', async () => {
    api.nodes.put({ ...api.nodes.get('m-1'), spec: { unschedulable: true } });
    await control().cordon(call('op-1'), 'cluster-a');
    for (const whose of ['own', 'any'] as const)
      expect(await control().uncordon(call('op-1'), 'cluster-a', whose)).toBe(false);
    expect(api.isCordoned('m-1')).toBe(true);
    // An operation whose plan only uncordons means it.
    expect(await control().uncordon(call('op-2'), 'cluster-a', 'any')).toBe(true);
  });

  it('that an earlier operation left becomes the later one’s', async () => {
    await control().cordon(call('op-1'), 'cluster-a');
    await control().cordon(call('op-2'), 'cluster-a');
    expect(await control().uncordon(call('op-2'), 'cluster-a', 'own')).toBe(true);
  });

  it('is made once, and never by a holder that has lost its lease', async () => {
    await control().cordon(call('op-1'), 'cluster-a');
    await control().cordon(call('op-1'), 'cluster-a');
    const lost = call('op-2', {
      checkHeld: () => {
        throw new Error('lost');
      },
    });
    await expect(control().cordon(lost, 'cluster-a')).rejects.toThrow('lost');
    expect(api.requests.filter((request) => request.startsWith('PATCH'))).toHaveLength(1);
  });

  it('needs a node', async () => {
    api.nodes.delete('m-1');
    expect(await failureOf(control().cordon(call('op-1'), 'cluster-a'))).toMatchObject({
      class: 'permanent',
      code: 'NODE_NOT_FOUND',
    });
  });
});

describe('a probe of a machine in its cluster', () => {
  const machineSaid = (conditions: Record<string, { status: boolean; reason: string }>) => {
    const at = { message: '', lastTransition: '2026-01-01T00:00:00.000Z' };
    const entries = Object.entries(conditions).map(([type, said]) => [type, { ...said, ...at }]);
    return machineAt('', { conditions: Object.fromEntries(entries) });
  };

  it('counts the workloads of a cordoned node, and of no other', async () => {
    api.pods.add({ node: 'm-1', name: 'web-1' });
    const clusters = clustersOf(api);
    expect(await probeCluster(clusters, machineAt(''), signal)).toMatchObject({
      reason: 'NodeReady',
      sight: { node: { takesWork: true, workloads: null } },
    });
    await control().cordon(call('op-1'), 'cluster-a');
    expect(await probeCluster(clustersOf(api), machineAt(''), signal)).toMatchObject({
      reason: 'NodeCordoned',
      sight: { node: { takesWork: false, workloads: { count: 1, ending: 0 } } },
    });
  });

  it('does not take an old list for news of a node that was cordoned, or opened, since', async () => {
    const clusters = clustersOf(api);
    const drained = machineSaid({
      InCustomerCluster: { status: true, reason: 'NodeCordoned' },
      Drained: { status: true, reason: 'NodeDrained' },
    });
    expect(await probeCluster(clusters, machineAt(''), signal)).toMatchObject({ reason: 'NodeReady' });
    await control().cordon(call('op-1'), 'cluster-a');
    // The list still shows it open.
    expect(await probeCluster(clusters, drained, signal)).toMatchObject({ reason: 'NodeCordoned' });

    const later = clustersOf(api);
    expect(await probeCluster(later, drained, signal)).toMatchObject({ reason: 'NodeCordoned' });
    await control().uncordon(call('op-1'), 'cluster-a', 'own');
    expect(await probeCluster(later, drained, signal)).toMatchObject({ reason: 'NodeReady' });
  });

  it('does not take an old list for news of a machine that joined since', async () => {
    api.nodes.delete('m-1');
    const clusters = clustersOf(api);
    expect(await probeCluster(clusters, machineAt(''), signal)).toMatchObject({ reason: 'NotJoined' });
    api.setNode('m-1', 'Ready');
    const joined = machineSaid({ InCustomerCluster: { status: true, reason: 'NodeReady' } });
    expect(await probeCluster(clusters, joined, signal)).toMatchObject({ ok: true });
  });
});
