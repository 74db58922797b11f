/** Reading and changing machines outside of operations. */
import { isDeepStrictEqual } from 'node:util';
import { machineOutOfScope, type Scope } from '../../domain/access/scope.ts';
import type { NewEvent } from '../../domain/event.ts';
import type { Machine } from '../../domain/machine/machine.ts';
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
import { preparedAs, scopeCondition } from '../filter/scope-condition.ts';
import { followSpecMacs } from '../nodes/nodes.ts';
import { KeptMachines } from './kept-machines.ts';
import { takenHardware, untilHardwareSettled } from './machine-hardware.ts';
import { lockMachineIn, writeMachines } from './machine-rows.ts';

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
