/** What a registration answers, which is put together without reading the row. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../../../test/parts/postgres.ts';
import type { NewEvent } from '../../domain/event.ts';
import { EMPTY_SPEC } from '../../domain/machine/spec/machine-spec.ts';
import { Database } from '../database/database.ts';
import { findMachine } from './machines.ts';
import { type MachineInput, MachineRegistrar } from './register-machines.ts';

let clone: TestDatabase;
let database: Database;
let registrar: MachineRegistrar;

beforeAll(async () => {
  clone = await cloneDatabase();
  database = new Database({ url: clone.url, maxConnections: 4, onIdleError: () => {} });
  registrar = new MachineRegistrar(database);
});
afterAll(async () => {
  await database.close();
  await clone.drop();
});

const BARE: MachineInput = { machineId: 'bare', labels: {}, spec: { ...EMPTY_SPEC, provider: 'fake' } };
const FULL: MachineInput = {
  machineId: 'full',
  labels: { rack: 'r-7', 'env/tier': 'ünïcode "quoted" \\ text' },
  spec: {
    ...EMPTY_SPEC,
    provider: 'fake',
    ssh_endpoint: '10.0.0.7',
    mac_addresses: ['02:00:00:00:00:01', '02:00:00:00:00:02'],
    location: { ...EMPTY_SPEC.location, site: 'ams', rack: 'r-7' },
  },
};

function registered(machineId: string): NewEvent {
  const actor = { kind: 'operator', id: 'alice' } as const;
  const rest = { comment: '', metadata: {}, operationId: null, snapshot: null };
  return { kind: 'machine', subject: machineId, from: '', to: 'registered', actor, machineId, ...rest };
}
const register = (input: MachineInput) => registrar.register(input, registered(input.machineId));

it('answers with the machine as it is stored', async () => {
  const answers = await Promise.all([BARE, FULL].map(register));
  const stored = await Promise.all([BARE, FULL].map(({ machineId }) => findMachine(database, machineId)));
  expect(answers).toEqual(stored);
});

it('answers null for an id that exists, and writes nothing for it', async () => {
  const again = { ...BARE, labels: { rack: 'other' } };
  const fresh = { ...BARE, machineId: 'fresh' };
  const [known, made] = await Promise.all([again, fresh].map(register));
  expect(known).toBeNull();
  expect(made?.machineId).toBe('fresh');
  expect((await findMachine(database, 'bare'))?.labels).toEqual({});
  const events = await database.run<{ machine_id: string }>(
    'registered-events',
    `SELECT machine_id FROM events WHERE to_state = 'registered' ORDER BY machine_id`,
  );
  expect(events.map(({ machine_id }) => machine_id)).toEqual(['bare', 'fresh', 'full']);
});

it('creates a new id once when a batch has it twice', async () => {
  const twice = { ...BARE, machineId: 'twice' };
  const answers = await Promise.all([twice, twice].map(register));
  expect(answers.map((machine) => machine?.machineId ?? null)).toEqual(['twice', null]);
});

it('gives a machine a probe and its hardware, and both go with it', async () => {
  const input = {
    ...BARE,
    machineId: 'gone',
    spec: { ...BARE.spec, bmc_endpoint: '10.0.1.1', mac_addresses: ['02:00:00:00:00:03'] },
  };
  await register(input);
  expect(await belongings('gone')).toEqual(['bmc', 'mac', 'probe']);
  await database.run('delete-machine', 'DELETE FROM machines WHERE machine_id = $1', ['gone']);
  expect(await belongings('gone')).toEqual([]);
});

async function belongings(machineId: string): Promise<string[]> {
  const rows = await database.run<{ what: string }>(
    'belongings',
    `SELECT 'probe' AS what FROM machine_looks WHERE machine_id = $1
     UNION ALL SELECT kind FROM machine_hardware WHERE machine_id = $1 ORDER BY 1`,
    [machineId],
  );
  return rows.map(({ what }) => what);
}
