/** Registering, reading and changing machines outside of operations. */
import type { NewEvent } from '../domain/event.ts';
import type { Labels, Machine, MachineSpec } from '../domain/machine.ts';
import { phaseLifecycle } from '../domain/phase.ts';
import { appendEvents } from './append-events.ts';
import { Coalescer } from './coalescer.ts';
import { type Database, isStatementError, type Session } from './database.ts';
import { lockMachines, writeMachines } from './machine-rows.ts';
import { MACHINE_COLUMNS, type MachineRow, machineOf } from './rows.ts';

export interface MachineInput {
  readonly machineId: string;
  readonly labels: Labels;
  readonly spec: MachineSpec;
}

const INSERT = `
  INSERT INTO machines (machine_id, labels, spec, phase) VALUES ($1, $2, $3, $4)
  ON CONFLICT (machine_id) DO NOTHING RETURNING ${MACHINE_COLUMNS}`;

/** Null when the id is taken. */
export async function insertMachine(session: Session, input: MachineInput): Promise<Machine | null> {
  const [row] = await session.run<MachineRow>('insert-machine', INSERT, [
    input.machineId,
    JSON.stringify(input.labels),
    JSON.stringify(input.spec),
    phaseLifecycle.initial,
  ]);
  return row ? machineOf(row) : null;
}

/** Locks one machine, lets `change` say what becomes of it, writes that and its events. Null: no such machine. */
export async function changeMachine(
  database: Database,
  machineId: string,
  change: (machine: Machine) => { machine: Machine; events: readonly NewEvent[] },
): Promise<Machine | null> {
  return database.transaction(async (session) => {
    const machine = (await lockMachines(session, [machineId])).get(machineId);
    if (!machine) return null;
    const changed = change(machine);
    if (changed.machine === machine) return machine;
    await writeMachines(session, [changed.machine]);
    await appendEvents(session, changed.events);
    return findOne(session, machineId);
  });
}

async function findOne(session: Session, machineId: string): Promise<Machine | null> {
  const [row] = await session.run<MachineRow>(
    'find-machine',
    `SELECT ${MACHINE_COLUMNS} FROM machines WHERE machine_id = $1`,
    [machineId],
  );
  return row ? machineOf(row) : null;
}

/** Reads single machines, many requests in one statement. */
export class MachineReader {
  readonly #reads: Coalescer<string, Machine | null>;

  constructor(database: Database) {
    this.#reads = new Coalescer({
      maxBatch: 500,
      maxUnderWay: 4,
      flush: async (ids) => {
        const rows = await database.run<MachineRow>(
          'read-machines',
          `SELECT ${MACHINE_COLUMNS} FROM machines WHERE machine_id = ANY($1)`,
          [[...new Set(ids)]],
        );
        const found = new Map(rows.map((row) => [row.machine_id, machineOf(row)]));
        return ids.map((id) => found.get(id) ?? null);
      },
      isPoisoned: isStatementError,
    });
  }

  find(machineId: string): Promise<Machine | null> {
    return this.#reads.submit(machineId);
  }
}
