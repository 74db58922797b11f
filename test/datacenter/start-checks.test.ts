/** What is known before the start is refused at the start, in every API, and nothing is stored or contacted for it. */
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { maasConfiguration } from '../../src/providers/maas/maas-configuration.ts';
import { fresh, newMachine, phaseOf, run as runOperation } from '../api/fleet.ts';
import { newPlan, storedRows, v1Of } from '../api-v1/runs.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { unusedKey } from './bmc-site.ts';

let server: TestServer;
const key = unusedKey();
/** Nothing answers there. */
const WHOLE = {
  provider: 'dc-1',
  bmcEndpoint: '127.0.9.1',
  sshEndpoint: '127.0.9.2',
  macAddresses: ['02:00:00:00:00:01'],
};
let lastMac = 1;

beforeAll(async () => {
  vi.stubEnv('INGOT_TEST_PASSWORD', 'a password');
  const ssh = { user: 'root', private_key_file: key.file, insecure_accept_any: true };
  const login = { user: 'root', password_env: 'INGOT_TEST_PASSWORD' };
  const bmc = { ...login, allowed_networks: ['127.0.9.0/24'] };
  const maas = { kind: 'maas', url: 'http://127.0.0.1:9/MAAS', api_key_env: 'INGOT_TEST_KEY' };
  vi.stubEnv('INGOT_TEST_KEY', 'a:b:c');
  server = await startTestServer({
    providers: {
      'dc-1': datacenterConfiguration.parse({ kind: 'datacenter', ssh, bmc }),
      'maas-1': maasConfiguration.parse({ ...maas, power: { type: 'ipmi', ...login } }),
      'maas-2': maasConfiguration.parse(maas),
    },
    pools: ['pool-a'],
  });
  await server.sql(
    `INSERT INTO images (image_name, sha256, size_bytes, created_by)
     SELECT name, repeat('0', 64), 1, 'admin:t' FROM unnest(ARRAY['debian-13', 'rocky-9']) AS name`,
  );
});
afterAll(async () => {
  await server?.stop();
  key.remove();
});

type Spec = Partial<typeof WHOLE> & { targetClusterRef?: string };

/** A machine in MAINTENANCE, in which everything may be started. */
async function machineWith(fields: Spec): Promise<string> {
  const [bmc, host] = [++lastMac, ++lastMac];
  const mac = `02:00:00:00:01:${bmc.toString(16).padStart(2, '0')}`;
  const spec = {
    ...WHOLE,
    bmcEndpoint: `127.0.9.${bmc}`,
    sshEndpoint: `127.0.9.${host}`,
    macAddresses: [mac],
    ...fields,
  };
  const machineId = await newMachine(server, { spec });
  expect(phaseOf(await runOperation(server, 'ENTER_MAINTENANCE', machineId))).toBe('SUCCEEDED');
  return machineId;
}

const reimage = (machineId: string, imageRef = 'debian-13') =>
  server.machines.reimageMachine({ machineId, requestId: fresh('start'), imageRef });
const reboot = (machineId: string) => server.machines.rebootMachine({ machineId, requestId: fresh('start') });
const runOf = (type: string) => (machineId: string) =>
  v1Of(server).runs.startRun({ type, machineId, requestId: fresh('start') });

describe('a start is refused for', () => {
  it.each([
    ['no BMC', reimage, { bmcEndpoint: '' }, 'NO_BMC_ENDPOINT', 'spec.bmc_endpoint'],
    ['no BMC', reboot, { bmcEndpoint: '' }, 'NO_BMC_ENDPOINT', 'spec.bmc_endpoint'],
    ['no BMC', runOf('REBOOT'), { bmcEndpoint: '' }, 'NO_BMC_ENDPOINT', 'spec.bmc_endpoint'],
    ['no BMC', runOf('RMA'), { bmcEndpoint: '' }, 'NO_BMC_ENDPOINT', 'graceful-shutdown'],
    ['a BMC in plain text', reboot, { bmcEndpoint: 'http://127.0.9.9' }, 'REDFISH_NOT_OFFERED', 'plain text'],
    ['a BMC out of bounds', reboot, { bmcEndpoint: '192.0.2.1' }, 'BMC_ADDRESS_NOT_ALLOWED', '192.0.2.1'],
    ['no address', reimage, { macAddresses: [] }, 'NO_MAC_ADDRESS', 'spec.mac_addresses'],
    ['no host', runOf('NET_RECONFIG'), { sshEndpoint: '' }, 'NO_SSH_ENDPOINT', 'spec.ssh_endpoint'],
    ['no cluster', runOf('JOIN'), {}, 'NO_TARGET_CLUSTER', 'target_cluster_ref'],
    ['an unknown cluster', runOf('JOIN'), { targetClusterRef: 'c-9' }, 'UNKNOWN_CLUSTER', 'c-9'],
    ['an unknown cluster', runOf('RMA'), { targetClusterRef: 'c-9' }, 'UNKNOWN_CLUSTER', 'drain-check'],
    ['an unknown cluster', reimage, { targetClusterRef: 'c-9' }, 'UNKNOWN_CLUSTER', 'c-9'],
    ['no image', (id: string) => reimage(id, ''), {}, 'NO_IMAGE', 'image'],
    [
      'an unknown image',
      (id: string) => reimage(id, 'debian-99'),
      {},
      'IMAGE_NOT_FOUND',
      'debian-13, rocky-9',
    ],
  ] as const)('%s', async (_what, call, fields, reason, named) => {
    const machineId = await machineWith(fields as Spec);
    const before = await storedRows(server);
    const refused = await refusal(call(machineId));
    expect(refused).toMatchObject({ code: 'FAILED_PRECONDITION', reason });
    expect(refused.message).toContain(named);
    expect(refused.message).toContain(machineId);
    expect(refused.violations).toMatchObject([{ subject: `machines/${machineId}` }]);
    expect(await storedRows(server)).toEqual(before);
  });

  it('an image that a plan names and that does not exist', async () => {
    const { planId } = await newPlan(server, [
      { name: 'write', kind: { case: 'repave', value: { image: 'debian-99' } } },
    ]);
    const machineId = await machineWith({});
    const call = v1Of(server).runs.startRun({ type: 'REPAVE', planId, machineId, requestId: fresh('start') });
    expect(await refusal(call)).toMatchObject({ code: 'FAILED_PRECONDITION', reason: 'IMAGE_NOT_FOUND' });
  });

  it('a machine that the server has no installer for', async () => {
    const machineId = await machineWith({});
    const file = join(server.bootDir, 'installer', 'initrd.gz');
    renameSync(file, `${file}.away`);
    const refused = await refusal(reimage(machineId));
    renameSync(`${file}.away`, file);
    expect(refused).toMatchObject({ code: 'FAILED_PRECONDITION', reason: 'INSTALLER_NOT_BUILT' });
    expect(refused.message).toContain('`ingot installer build`');
  });

  it('a node that is past installing', async () => {
    const machineId = await machineWith({});
    await server.sql(`INSERT INTO nodes (machine_id, mac_address) VALUES ($1, '02:00:00:00:ff:01')`, [
      machineId,
    ]);
    await server.sql(`UPDATE machines SET install = 'retired' WHERE machine_id = $1`, [machineId]);
    expect(await refusal(reimage(machineId))).toMatchObject({ reason: 'NODE_NOT_INSTALLABLE' });
  });

  it.each([
    ['maas-1', { macAddresses: [] }, 'NO_MAC_ADDRESS'],
    ['maas-1', { bmcEndpoint: '' }, 'NO_BMC_ENDPOINT'],
    ['maas-1', { bmcEndpoint: 'https://127.0.9.200' }, 'NO_BMC_ENDPOINT'],
    ['maas-2', {}, 'NO_POWER_CREDENTIALS'],
  ] as const)('an onboarding in %s with %j', async (provider, fields, reason) => {
    const machineId = await machineWith({ provider, ...fields } as Spec);
    const call = server.admin.onboardMachine({ machineId, pool: 'pool-a', requestId: fresh('start') });
    expect(await refusal(call)).toMatchObject({ code: 'FAILED_PRECONDITION', reason });
  });
});

describe('in its order', () => {
  it('a replay comes first: what was started is found again when the image is gone', async () => {
    const machineId = await machineWith({});
    const request = { machineId, requestId: fresh('start'), imageRef: 'rocky-9' };
    const { operationId } = await server.machines.reimageMachine(request);
    await server.sql(`DELETE FROM images WHERE image_name = 'rocky-9'`);
    expect((await server.machines.reimageMachine(request)).operationId).toBe(operationId);
    await server.machines.cancelOperation({ operationId });
  });

  it('the machine comes before what its steps need', async () => {
    expect(await refusal(reimage('nobody', 'debian-99'))).toMatchObject({ code: 'NOT_FOUND' });
  });

  it('a fake machine takes any image', async () => {
    const machineId = await newMachine(server, { phase: 'MAINTENANCE' });
    expect(phaseOf(await runOperation(server, 'REIMAGE', machineId))).toBe('SUCCEEDED');
  });
});
