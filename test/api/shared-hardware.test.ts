// @module-tag extended: spec-fields.test.ts has addresses that another machine has.
/** No two machines share a MAC address, a BMC (with the path of its system) or an SSH endpoint. */
import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { v1Of } from '../api-v1/runs.ts';
import { cloneDatabase } from '../parts/postgres.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { fresh, rowCounts } from './fleet.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

interface Spec {
  readonly sshEndpoint?: string;
  readonly bmcEndpoint?: string;
  readonly macAddresses?: string[];
}

async function register(spec: Spec): Promise<string> {
  const machineId = fresh('own');
  await server.machines.registerMachine({ machine: { machineId, spec } });
  return machineId;
}

const SAME: ReadonlyArray<readonly [reason: string, field: string, first: Spec, second: Spec]> = [
  ['SSH_ENDPOINT_TAKEN', 'spec.ssh_endpoint', { sshEndpoint: 'a.example' }, { sshEndpoint: 'A.Example.:22' }],
  [
    'SSH_ENDPOINT_TAKEN',
    'spec.ssh_endpoint',
    { sshEndpoint: '[2001:DB8::1]' },
    { sshEndpoint: '[2001:db8:0:0::1]:22' },
  ],
  ['BMC_ENDPOINT_TAKEN', 'spec.bmc_endpoint', { bmcEndpoint: '10.7.0.1' }, { bmcEndpoint: '10.7.0.1:623' }],
  [
    'BMC_ENDPOINT_TAKEN',
    'spec.bmc_endpoint',
    { bmcEndpoint: 'https://bmc.example/redfish/v1/Systems/1' },
    { bmcEndpoint: 'HTTPS://BMC.example:443/redfish/v1/Systems/1/' },
  ],
  [
    'BMC_ENDPOINT_TAKEN',
    'spec.bmc_endpoint',
    { bmcEndpoint: 'http://[::1]' },
    { bmcEndpoint: 'http://[0::1]:80/' },
  ],
  [
    'MAC_ADDRESS_TAKEN',
    'spec.mac_addresses',
    { macAddresses: ['02:07:00:00:00:01', '02:07:00:00:00:0a'] },
    { macAddresses: ['02:07:00:00:00:02', '02-07-00-00-00-0A'] },
  ],
];

describe('what another machine has', () => {
  test.each(SAME)('is refused with %s: %s of %j and %j', async (reason, field, first, second) => {
    const holder = await register(first);
    const other = await register({});
    const counts = await rowCounts(server);
    const v1 = v1Of(server).machines;
    for (const call of [
      () => server.machines.registerMachine({ machine: { machineId: 'second', spec: second } }),
      () => server.machines.registerMachine({ machine: { machineId: other, spec: second } }),
      () => server.machines.updateMachine({ machine: { machineId: other, spec: second } }),
      () => v1.registerMachine({ machine: { machineId: 'second', spec: second } }),
      () =>
        v1.updateMachine({
          machine: { machineId: other, spec: second },
          updateMask: { paths: [field] },
        }),
    ]) {
      const error = await refusal(call());
      expect(error).toMatchObject({
        code: 'ALREADY_EXISTS',
        reason,
        metadata: { machine_id: holder, field },
      });
      expect(error.message).toContain(holder);
    }
    expect(await rowCounts(server)).toEqual(counts);
  });

  test.each([
    [{ sshEndpoint: 'b.example:22' }, { sshEndpoint: 'b.example:2222' }],
    [{ bmcEndpoint: '10.7.1.1:6230' }, { bmcEndpoint: '10.7.1.1:6231' }],
    [
      { bmcEndpoint: 'https://bmc2.example/redfish/v1/Systems/1' },
      { bmcEndpoint: 'https://bmc2.example/redfish/v1/Systems/2' },
    ],
    [{ bmcEndpoint: '10.7.1.2' }, { sshEndpoint: '10.7.1.2' }],
    [{}, {}],
  ])('is not found in similar texts: %j and %j', async (first, second) => {
    await register(first);
    await register(second);
  });
});

test('what a machine releases another can claim, and a removed machine claims nothing', async () => {
  const sshEndpoint = 'c.example';
  const first = await register({ sshEndpoint, macAddresses: ['02:07:00:00:01:01'] });
  await server.machines.registerMachine({
    machine: { machineId: first, spec: { sshEndpoint, macAddresses: ['02:07:00:00:01:01'] } },
  });
  const paths = ['spec.ssh_endpoint'];
  await server.machines.updateMachine({
    machine: { machineId: first, spec: { sshEndpoint: 'd.example' } },
    updateMask: { paths },
  });
  await register({ sshEndpoint });
  await server.sql(`UPDATE machines SET service = 'deleted' WHERE machine_id = $1`, [first]);
  const next = await register({ sshEndpoint: 'd.example', macAddresses: ['02:07:00:00:01:01'] });
  await server.sql('DELETE FROM machines WHERE machine_id = $1', [next]);
  await register({ sshEndpoint: 'd.example', macAddresses: ['02:07:00:00:01:01'] });
});

test('of many registrations at once that claim the same, one wins, and the others fail alone', async () => {
  const at = (n: number) => `02:07:00:00:02:${String(n).padStart(2, '0')}`;
  const name = fresh('crowd');
  const calls = Array.from({ length: 60 }, (_, n) =>
    server.machines.registerMachine({
      machine: { machineId: `${name}-${n}`, spec: { macAddresses: [at(n % 50)] } },
    }),
  );
  const answers = await Promise.allSettled(calls);
  expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(50);
  const rows = await server.sql(`SELECT 1 FROM machine_hardware WHERE key LIKE '02:07:00:00:02:%'`);
  expect(rows).toHaveLength(50);
});

test('machines that shared something before can be changed otherwise, and the first one has it', async () => {
  const [first, second] = [await register({ bmcEndpoint: '10.7.2.1' }), await register({})];
  // As a database has it that is older than the rule.
  await server.sql('ALTER TABLE machines DISABLE TRIGGER machines_hardware');
  await server.sql(
    `UPDATE machines SET spec = spec || '{"bmc_endpoint": "10.7.2.1"}' WHERE machine_id = $1`,
    [second],
  );
  await server.sql('ALTER TABLE machines ENABLE TRIGGER machines_hardware');
  const labelled = { machineId: second, labels: { a: 'b' }, spec: { serial: 'S', bmcEndpoint: '10.7.2.1' } };
  expect((await server.machines.updateMachine({ machine: labelled })).spec?.serial).toBe('S');
  const error = await refusal(
    server.machines.registerMachine({ machine: { spec: { bmcEndpoint: '10.7.2.1' } } }),
  );
  expect(error.metadata.machine_id).toBe(first);
  await server.machines.updateMachine({ machine: { machineId: first, spec: {} } });
  await server.machines.updateMachine({ machine: { ...labelled, spec: { ...labelled.spec, serial: 'T' } } });
  const next = await refusal(
    server.machines.registerMachine({ machine: { spec: { bmcEndpoint: '10.7.2.1' } } }),
  );
  expect(next.metadata.machine_id).toBe(second);
});

test('a database in which machines share things is brought up to date; the first of each keeps them', async () => {
  const database = await cloneDatabase('template0');
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const folder = new URL('../../src/store/migrations/', import.meta.url);
  for (const name of readdirSync(folder).sort()) {
    if (name.startsWith('0009')) {
      await client.query(`INSERT INTO machines (machine_id, labels, spec, phase, service, created_at)
        SELECT id, '{}', '{"ssh_endpoint": "[fe80::1%x]:22", "mac_addresses": ["02:07:00:00:03:01"]}', 'READY', service, at::timestamptz
        FROM (VALUES ('gone', 'deleted', '2026-01-01'), ('second', NULL, '2026-01-03'), ('first', NULL, '2026-01-02'))
          AS m(id, service, at)`);
    }
    await client.query(readFileSync(new URL(name, folder), 'utf8'));
  }
  const { rows } = await client.query('SELECT kind, machine_id FROM machine_hardware ORDER BY kind');
  await client.end();
  await database.drop();
  expect(rows).toEqual([
    { kind: 'mac', machine_id: 'first' },
    { kind: 'ssh', machine_id: 'first' },
  ]);
});
