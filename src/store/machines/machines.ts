/** Registering, reading and changing machines outside of operations. */
import { isDeepStrictEqual } from 'node:util';
import { machineOutOfScope, type Scope } from '../../domain/access/scope.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { NewEvent } from '../../domain/event.ts';
import type { Labels, Machine, MachineSpec } from '../../domain/machine/machine.ts';
import { phaseLifecycle } from '../../domain/machine/phase.ts';
import { Coalescer } from '../database/coalescer.ts';
import { type Database, isStatementError, type Session, untilNotDeadlocked } from '../database/database.ts';
import {
  MACHINE_AS_JSON,
  MACHINE_COLUMNS,
  type MachineJson,
  type MachineRow,
  machineOf,
  machineOfJson,
} from '../database/rows.ts';
import { insertEventsOf } from '../events/append-events.ts';
import { eventsAsLines } from '../events/event-lines.ts';
import { preparedAs, scopeCondition } from '../filter/scope-condition.ts';
import { followSpecMacs } from '../nodes/nodes.ts';
import { KeptMachines } from './kept-machines.ts';
import { isHardwareTaken, takenHardware } from './machine-hardware.ts';
import { lockMachineIn, writeMachines } from './machine-rows.ts';

export interface MachineInput {
  readonly machineId: string;
  readonly labels: Labels;
  readonly spec: MachineSpec;
}

/** New machines and the event of each, in one statement; ids that exist are left alone. */
const REGISTER = `
  WITH registered AS (
    INSERT INTO machines (machine_id, labels, spec, phase)
    SELECT i."machineId", i.labels, i.spec, $2
    FROM jsonb_to_recordset($1::jsonb) AS i("machineId" text, labels jsonb, spec jsonb)
    ON CONFLICT (machine_id) DO NOTHING
    RETURNING ${MACHINE_COLUMNS}),
  appended AS (${insertEventsOf('$3', 'registered', 'registered.machine_id = e."machineId"')}),
  probed AS (INSERT INTO machine_looks (machine_id) SELECT machine_id FROM registered ON CONFLICT DO NOTHING),
  notified AS MATERIALIZED (SELECT pg_notify('ingot', 'events'))
  SELECT registered.* FROM registered LEFT JOIN notified ON true`;

interface Registration {
  readonly input: MachineInput;
  readonly event: NewEvent;
}

/** Registers machines, many requests in one statement. */
export class MachineRegistrar {
  readonly #registrations: Coalescer<Registration, Registered>;

  constructor(database: Database) {
    this.#registrations = new Coalescer({
      maxBatch: 500,
      maxUnderWay: 3,
      flush: (registrations) => registerBatch(database, registrations),
      isPoisoned: isStatementError,
    });
  }

  /** Null when the id exists. */
  async register(input: MachineInput, event: NewEvent): Promise<Machine | null> {
    const registered = await this.#registrations.submit({ input, event });
    if (registered instanceof Fault) throw registered;
    return registered;
  }
}

type Registered = Machine | Fault | null;

/** One statement for all. A machine that claims another one's hardware is refused alone, and the rest is tried again. */
async function registerBatch(
  database: Database,
  registrations: readonly Registration[],
): Promise<Registered[]> {
  const refused = new Map<MachineInput, Fault>();
  return untilHardwareSettled(
    async () => {
      const others = registrations.filter(({ input }) => !refused.has(input));
      const registered = (await untilNotDeadlocked(() => registerAll(database, others))).values();
      return registrations.map(({ input }) => refused.get(input) ?? registered.next().value ?? null);
    },
    async () => {
      const inputs = registrations.map(({ input }) => input).filter((input) => !refused.has(input));
      const known = await existingIds(database, inputs);
      const claims = inputs.filter(({ machineId }) => !known.has(machineId));
      for (const [input, fault] of await takenHardware(database, claims)) refused.set(input, fault);
    },
  );
}

/** Machines that exist are left alone by the statement, so their claims are checked when they are changed. */
async function existingIds(session: Session, inputs: readonly MachineInput[]): Promise<Set<string>> {
  const rows = await session.run<{ machine_id: string }>(
    'existing-machines',
    'SELECT machine_id FROM machines WHERE machine_id = ANY($1)',
    [inputs.map(({ machineId }) => machineId)],
  );
  return new Set(rows.map(({ machine_id }) => machine_id));
}

const MAX_ATTEMPTS = 5;

/** Repeats a write that was refused for its hardware, after `settle`: the other machine may have released it meanwhile. */
async function untilHardwareSettled<T>(write: () => Promise<T>, settle: () => Promise<void>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await write();
    } catch (error) {
      if (!isHardwareTaken(error) || attempt === MAX_ATTEMPTS) throw error;
      await settle();
    }
  }
}

/** As a part of a larger transaction. Null when the id exists. */
export async function insertMachine(
  session: Session,
  input: MachineInput,
  event: NewEvent,
): Promise<Machine | null> {
  const [machine] = await registerAll(session, [{ input, event }]);
  return machine ?? null;
}

async function registerAll(
  session: Session,
  registrations: readonly Registration[],
): Promise<Array<Machine | null>> {
  // Of two requests for one new id the first creates it; the other finds that it exists.
  const first = new Map<string, Registration>();
  for (const registration of registrations) {
    if (!first.has(registration.input.machineId)) first.set(registration.input.machineId, registration);
  }
  // In the order of their ids, so that two batches with the same ids can't deadlock.
  const unique = [...first.values()].sort((left, right) =>
    left.input.machineId < right.input.machineId ? -1 : 1,
  );
  const rows = await session.run<MachineRow>('register-machines', REGISTER, [
    JSON.stringify(unique.map(({ input }) => input)),
    phaseLifecycle.initial,
    eventsAsLines(unique.map(({ event }) => event)),
  ]);
  const created = new Map(rows.map((row) => [row.machine_id, machineOf(row)]));
  return registrations.map((registration) => {
    const { machineId } = registration.input;
    return first.get(machineId) === registration ? (created.get(machineId) ?? null) : null;
  });
}

/** Locks one machine, applies `change`, writes the result and its events. Null: no such machine in the scope. */
export async function changeMachine(
  database: Database,
  { machineId, scope }: { readonly machineId: string; readonly scope: Scope | null },
  change: (machine: Machine) => { machine: Machine; events: readonly NewEvent[] },
): Promise<Machine | null> {
  let written: Machine | null = null;
  const write = () =>
    database.transaction(async (session) => {
      const machine = await lockMachineIn(session, machineId, scope);
      if (!machine) return null;
      const changed = change(machine);
      if (changed.machine === machine) return machine;
      if (scope !== null && !scope.contains(changed.machine)) throw machineOutOfScope(machineId, scope);
      written = changed.machine;
      await writeMachines(session, [changed.machine], changed.events);
      if (!isDeepStrictEqual(changed.machine.spec.mac_addresses, machine.spec.mac_addresses)) {
        await followSpecMacs(session, changed.machine);
      }
      return findMachine(session, machineId);
    });
  return untilHardwareSettled(
    () => untilNotDeadlocked(write),
    async () => {
      const claims = written === null ? [] : [written];
      for (const fault of (await takenHardware(database, claims)).values()) throw fault;
    },
  );
}

export async function findMachine(session: Session, machineId: string): Promise<Machine | null> {
  const [row] = await session.run<MachineRow>(
    'find-machine',
    `SELECT ${MACHINE_COLUMNS} FROM machines WHERE machine_id = $1`,
    [machineId],
  );
  return row ? machineOf(row) : null;
}

/** Those that exist in the scope, in the order of the ids. */
export async function findMachines(
  session: Session,
  ids: readonly string[],
  scope: Scope | null,
): Promise<Machine[]> {
  const { text, values } = scopeCondition(scope, 2);
  const wanted = [...new Set(ids)];
  const rows = await session.run<MachineJson>(preparedAs('read-machines', scope), `${READ} AND ${text}`, [
    wanted,
    ...values,
  ]);
  const found = new Map<string, Machine>();
  for (const row of rows) {
    const machine = machineOfJson(row);
    found.set(machine.machineId, machine);
  }
  return wanted.flatMap((id) => found.get(id) ?? []);
}

const READ = `SELECT ${MACHINE_AS_JSON} FROM machines WHERE machine_id = ANY($1)`;

interface SingleRow extends MachineJson {
  readonly machine_id: string;
}

const READ_SINGLE = `SELECT machine_id, ${MACHINE_AS_JSON} FROM machines WHERE machine_id = ANY($1)`;

/** Reads single machines, many requests in one statement. */
export class MachineReader {
  readonly #database: Database;
  readonly #reads: Coalescer<string, Machine | null>;
  readonly #kept = new KeptMachines();

  constructor(database: Database) {
    this.#database = database;
    this.#reads = new Coalescer({
      maxBatch: 500,
      maxUnderWay: 4,
      flush: async (ids) => {
        const rows = await database.run<SingleRow>('read-single-machines', READ_SINGLE, [[...new Set(ids)]]);
        const texts = new Map(rows.map(({ machine_id, machine }) => [machine_id, machine]));
        return ids.map((id) => {
          const text = texts.get(id);
          return text === undefined ? null : this.#kept.of(id, text);
        });
      },
      isPoisoned: isStatementError,
    });
  }

  /** Null: there is none in the scope. */
  async find(machineId: string, scope: Scope | null): Promise<Machine | null> {
    if (scope === null) return this.#reads.submit(machineId);
    return (await findMachines(this.#database, [machineId], scope))[0] ?? null;
  }
}
