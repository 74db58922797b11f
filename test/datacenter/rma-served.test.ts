// @module-tag extended: steps.test.ts has the step.
/** An RMA as a client starts it, of a machine whose power is behind a real BMC and whose node is in a cluster. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clustersConfiguration } from '../../src/clusters/cluster-configuration.ts';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { conditionOf, get, run as runOperation } from '../api/fleet.ts';
import { run, runPhase, type V1, v1Of, view } from '../api-v1/runs.ts';
import { needs } from '../parts/debian-packages.ts';
import { type IpmiBmc, startBmc } from '../parts/ipmi.ts';
import { type ApiServer, startApiServer } from '../parts/kubernetes/api-server.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { bmcFields, unusedKey } from './bmc-site.ts';

const programs = needs('ipmi');

describe.skipIf(programs.isMissing)(programs.title('an RMA of a datacenter’s machine in service'), () => {
  const machineId = 'dc-returned';
  const key = unusedKey();
  let api: ApiServer;
  let bmc: IpmiBmc;
  let server: TestServer;
  let v1: V1;

  beforeAll(async () => {
    api = await startApiServer();
    bmc = await startBmc();
    const ssh = { user: 'root', private_key_file: key.file, insecure_accept_any: true };
    server = await startTestServer({
      providers: { 'dc-1': datacenterConfiguration.parse({ kind: 'datacenter', ssh, bmc: bmcFields(bmc) }) },
      clusters: clustersConfiguration.parse({
        'cluster-a': { server: api.url, ca_file: api.authority.caFile, token_file: api.tokenFile },
      }),
      probes: { intervalSeconds: 1 },
    });
    v1 = v1Of(server);
  });
  afterAll(async () => {
    await server?.stop();
    await bmc.stop();
    await api.stop();
    key.remove();
  });

  const conditionNow = async (type: string) => conditionOf(await get(server, machineId), type);

  it('drains it, switches it off, and what the probes see afterwards does not take that back', async () => {
    api.setNode(machineId, 'Ready');
    api.pods.add({ node: machineId, name: 'web-1' });
    const spec = { provider: 'dc-1', bmcEndpoint: bmc.endpoint, targetClusterRef: 'cluster-a' };
    await server.machines.registerMachine({ machine: { machineId, spec } });
    await runOperation(server, 'ENTER_MAINTENANCE', machineId);
    await runOperation(server, 'EXIT_MAINTENANCE', machineId);
    await until(
      () => view(v1, machineId),
      ({ phase }) => phase === 'IN_SERVICE',
    );
    expect(await conditionNow('Drained')).toMatchObject({ status: false, reason: 'NodeTakesWork' });

    const done = await run(v1, 'RMA', machineId);
    expect([runPhase(done), (await view(v1, machineId)).phase]).toEqual(['SUCCEEDED', 'RMA']);
    expect([api.pods.evicted, api.isCordoned(machineId), bmc.isOn()]).toEqual([
      ['default/web-1'],
      true,
      false,
    ]);
    api.setNode(machineId, 'NotReady');
    await until(
      () => conditionNow('InCustomerCluster'),
      (seen) => seen?.status === false,
    );
    expect(await conditionNow('Drained')).toMatchObject({ status: true, reason: 'NodeDrained' });

    // Someone opens the node again: the probes say so.
    const node = api.nodes.get(machineId);
    api.nodes.put({ ...node, spec: {} });
    api.setNode(machineId, 'Ready');
    await until(
      () => conditionNow('Drained'),
      (seen) => seen?.status === false,
    );
  });
});
