/** Who gets a MAC address, a BMC or an SSH endpoint that several machines claim at the same time. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../../../test/parts/postgres.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { NewEvent } from '../../domain/event.ts';
import type { MachineSpec } from '../../domain/machine/machine.ts';
import { EMPTY_SPEC } from '../../domain/machine/spec/machine-spec.ts';
import { Database } from '../database/database.ts';
import { changeMachine } from './machines.ts';
import { type MachineInput, MachineRegistrar } from './register-machines.ts';

let clone: TestDatabase;
let database: Database;
let replicas: readonly Database[];
let count = 0;

beforeAll(async () => {
  clone = await cloneDatabase();
  const open = (url: string) => new Database({ url, maxConnections: 4, onIdleError: () => {} });
  database = open(clone.url);
  replicas = [database, open(clone.url)];
});
afterAll(async () => {
  await Promise.all(replicas.map((open) => open.close()));
  await clone.drop();
});

function fresh(): string {
  count += 1;
  return `m-${count}`;
}
const mac = (index: number) => `02:00:00:00:00:${index.toString(16).padStart(2, '0')}`;

function registered(machineId: string): NewEvent {
  const actor = { kind: 'operator', id: 'alice' } as const;
  const rest = { comment: '', metadata: {}, operationId: null, snapshot: null };
  return { kind: 'machine', subject: machineId, from: '', to: 'registered', actor, machineId, ...rest };
}

function claim(...macs: readonly number[]): MachineInput {
  const spec: MachineSpec = { ...EMPTY_SPEC, provider: 'fake', mac_addresses: macs.map(mac) };
  return { machineId: fresh(), labels: {}, spec };
}

/** In one batch. */
function register(registrar: MachineRegistrar, inputs: readonly MachineInput[]): Promise<string[]> {
  return Promise.all(
    inputs.map(async (input) => {
      try {
        const made = await registrar.register(input, registered(input.machineId));
        return made === null ? 'exists' : 'made';
      } catch (error) {
        return `taken by ${holderIn(error)}`;
      }
    }),
  );
}

function holderIn(error: unknown): string {
  if (!(error instanceof Fault) || error.kind !== 'already_exists') throw error;
  return error.metadata.machine_id ?? '';
}

it('refuses no machine in the name of one that was refused itself', async () => {
  const registrar = new MachineRegistrar(database);
  const holder = claim(1);
  await register(registrar, [holder]);
  const [refused, next, last] = [claim(1, 2), claim(2), claim(2, 3)];
  expect(await register(registrar, [refused, next, last])).toEqual([
    `taken by ${holder.machineId}`,
    'made',
    `taken by ${next.machineId}`,
  ]);
});

it('refuses no machine in the name of one that exists and is only described again', async () => {
  const registrar = new MachineRegistrar(database);
  const known = claim(5);
  await register(registrar, [known]);
  const again = { ...known, spec: { ...known.spec, mac_addresses: [mac(6)] } };
  expect(await register(registrar, [again, claim(6), claim(5)])).toEqual([
    'exists',
    'made',
    `taken by ${known.machineId}`,
  ]);
});

it('gives what its holder gave up meanwhile, to a new machine and to a changed one', async () => {
  const registrar = new MachineRegistrar(database);
  const [holder, changed] = [claim(7, 8), claim()];
  await register(registrar, [holder, changed]);
  const run = database.run.bind(database);
  const giveUp = (key: string) =>
    vi.spyOn(database, 'run').mockImplementation(async (name, text, values) => {
      if (name === 'wanted-hardware') await run('', 'DELETE FROM machine_hardware WHERE key = $1', [key]);
      return run(name, text, values);
    });
  giveUp(mac(7));
  expect(await register(registrar, [claim(7)])).toEqual(['made']);
  giveUp(mac(8));
  const spec = { ...changed.spec, mac_addresses: [mac(8)] };
  const machine = await changeMachine(database, { machineId: changed.machineId, scope: null }, (before) => ({
    machine: { ...before, spec },
    events: [],
  }));
  vi.restoreAllMocks();
  expect(machine?.spec.mac_addresses).toEqual([mac(8)]);
});

it('lets one of two replicas win, and names it to the other', async () => {
  const registrars = replicas.map((replica) => new MachineRegistrar(replica));
  const keys = Array.from({ length: 40 }, (_, index) => 20 + index);
  const claims = registrars.map(() => keys.map((key) => claim(key)));
  const answers = await Promise.all(
    registrars.map((registrar, index) => register(registrar, claims[index] ?? [])),
  );
  for (const index of keys.keys()) {
    const [one, other] = claims.map((inputs) => inputs[index]?.machineId);
    const both = [answers[0]?.[index], answers[1]?.[index]];
    expect([
      ['made', `taken by ${one}`],
      [`taken by ${other}`, 'made'],
    ]).toContainEqual(both);
  }
});

it('changes a machine also when the database aborts its transaction to resolve a deadlock', async () => {
  const [first, second] = [claim(100), claim(101)];
  await register(new MachineRegistrar(database), [first, second]);
  // Which of two transactions is aborted depends on their clocks. So the first write is aborted as the database would: a sequence
  // counts on when its transaction is rolled back.
  await database.run('', 'CREATE SEQUENCE aborts');
  await database.run(
    '',
    `CREATE FUNCTION abort_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       IF nextval('aborts') = 1 THEN RAISE 'deadlock detected' USING ERRCODE = 'deadlock_detected'; END IF;
       RETURN NULL;
     END $$`,
  );
  await database.run(
    '',
    'CREATE TRIGGER abort_once BEFORE INSERT ON machine_hardware FOR EACH STATEMENT EXECUTE FUNCTION abort_once()',
  );
  const changed = await changeMachine(database, { machineId: first.machineId, scope: null }, (before) => ({
    machine: { ...before, spec: { ...second.spec, mac_addresses: [mac(102)] } },
    events: [],
  }));
  expect(changed).toMatchObject({ spec: { mac_addresses: [mac(102)] } });
  const [counted] = await database.run<{ last_value: string }>('', 'SELECT last_value FROM aborts');
  expect(Number(counted?.last_value)).toBeGreaterThan(1);
});
