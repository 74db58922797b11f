/**
 * Registers machines, many requests in one statement.
 *
 * The statement answers with the ids that are new, and with its time. All else of a new machine is what was sent, or the default of its
 * column: rows that the server takes apart again cost both sides as much as writing some of the indexes. A test compares each column.
 */
import { Fault } from '../../domain/error/fault.ts';
import type { NewEvent } from '../../domain/event.ts';
import type { Labels, Machine, MachineSpec } from '../../domain/machine/machine.ts';
import { phaseLifecycle } from '../../domain/machine/phase.ts';
import { Coalescer } from '../database/coalescer.ts';
import { type Database, isStatementError, type Session, untilNotDeadlocked } from '../database/database.ts';
import { insertEventsOf } from '../events/append-events.ts';
import { eventsAsLines } from '../events/event-lines.ts';
import { takenHardware, untilHardwareSettled } from './machine-hardware.ts';

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
    RETURNING machine_id),
  appended AS (${insertEventsOf('$3', 'registered', 'registered.machine_id = e."machineId"')}),
  probed AS (INSERT INTO machine_looks (machine_id) SELECT machine_id FROM registered ON CONFLICT DO NOTHING)
  SELECT now() AS at, coalesce(json_agg(machine_id), '[]') AS ids,
    CASE WHEN count(*) > 0 THEN pg_notify('ingot', 'events') END
  FROM registered`;

interface RegisteredRow extends Record<string, unknown> {
  readonly at: Date;
  readonly ids: readonly string[];
}

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
      // Each statement costs as much as six machines before its first one; one runs while the server prepares the next.
      maxUnderWay: 2,
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
  const [row] = await session.run<RegisteredRow>('register-machines', REGISTER, [
    JSON.stringify(unique.map(({ input }) => input)),
    phaseLifecycle.initial,
    eventsAsLines(unique.map(({ event }) => event)),
  ]);
  const created = new Set(row?.ids);
  return registrations.map((registration) => {
    const { input } = registration;
    if (row === undefined || first.get(input.machineId) !== registration) return null;
    return created.has(input.machineId) ? newMachine(input, row.at) : null;
  });
}

function newMachine({ machineId, labels, spec }: MachineInput, at: Date): Machine {
  return {
    machineId,
    labels,
    spec,
    phase: phaseLifecycle.initial,
    service: null,
    install: null,
    presence: null,
    pool: null,
    conditions: {},
    observed: null,
    maintenance: null,
    hardware: null,
    lemonScore: 0,
    locating: null,
    activeOperationId: null,
    activeOperationType: null,
    enteredServiceAt: null,
    effectiveSince: at,
    serviceSince: at,
    installSince: at,
    createdAt: at,
    updatedAt: at,
  };
}
