/** Everything that the checks read, collected after the storm: from the database, from the API, from the journals. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OperationStatus } from '../../src/domain/operation/operation-status.ts';
import type { StepState } from '../../src/domain/operation/step-state.ts';
import { type FakeState, settle } from '../../src/providers/fake/fake-state.ts';
import type { JournalLine } from './replica-messages.ts';
import type { Rows } from './storm-database.ts';
import type { ReceivedChange } from './watcher.ts';
import type { StartRecord } from './workload.ts';
import { readWriteHistory, type Write } from './write-history.ts';

export interface OperationFacts {
  readonly operationId: string;
  readonly machineId: string;
  readonly requestId: string;
  readonly status: OperationStatus;
  readonly owner: string | null;
  readonly errorCode: string | null;
  readonly steps: readonly {
    readonly name: string;
    readonly kind: string;
    readonly state: StepState;
    readonly attempts: number;
  }[];
}

export interface EventFacts {
  readonly eventId: number;
  readonly xid: number;
  readonly kind: 'operation' | 'step';
  readonly subject: string;
  readonly from: string;
  readonly to: string;
  readonly actorKind: string;
  readonly actorId: string;
  readonly machineId: string;
  readonly operationId: string;
  /** Watchers receive it. */
  readonly isTold: boolean;
}

export interface MachineFacts {
  readonly machineId: string;
  readonly phase: string;
  readonly activeOperationId: string | null;
  readonly bootCount: number;
  readonly staleEffects: number;
}

/** What the API says when everything is over. */
export interface ApiFacts {
  /** By operation id. */
  readonly statuses: ReadonlyMap<string, string>;
  /** By machine id; empty when there is none. */
  readonly activeOperations: ReadonlyMap<string, string>;
  /** The answers to every accepted request, sent once more: by `machine/request`. */
  readonly replays: ReadonlyMap<string, string>;
}

export interface Evidence {
  readonly starts: readonly StartRecord[];
  readonly operations: readonly OperationFacts[];
  readonly machines: readonly MachineFacts[];
  /** In the order of their ids, which is the order in which the rows' locks were held. */
  readonly events: readonly EventFacts[];
  readonly writes: readonly Write[];
  /** One list a replica, in the order of time. */
  readonly journals: readonly (readonly JournalLine[])[];
  readonly api: ApiFacts;
  readonly received: readonly ReceivedChange[];
  readonly hasUniqueIndex: boolean;
  readonly unexpectedDeaths: readonly string[];
  /** A restart of the database may have cut off the fake machines, which live in it. */
  readonly databaseRestarts: number;
}

export type StoredEvidence = Pick<
  Evidence,
  'operations' | 'machines' | 'events' | 'writes' | 'hasUniqueIndex'
>;

export async function readStoredEvidence(database: Rows): Promise<StoredEvidence> {
  const operations = await database.rows<OperationFacts>(`
    SELECT operation_id AS "operationId", machine_id AS "machineId", request_id AS "requestId", status, owner,
      error ->> 'code' AS "errorCode", steps
    FROM operations ORDER BY operation_id`);
  const events = await database.rows<EventFacts>(`
    SELECT event_id::float8 AS "eventId", xid::text::float8 AS xid, kind, subject, from_state AS "from",
      to_state AS "to", actor_kind AS "actorKind", actor_id AS "actorId", machine_id AS "machineId",
      operation_id AS "operationId", snapshot IS NOT NULL AS "isTold"
    FROM events WHERE kind IN ('operation', 'step') ORDER BY event_id`);
  const index = await database.rows(`
    SELECT 1 FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
    WHERE relname = 'one_active_operation_per_machine' AND indisunique AND indisvalid`);
  return {
    operations,
    machines: await readMachines(database),
    events,
    writes: await readWriteHistory(database),
    hasUniqueIndex: index.length === 1,
  };
}

export async function countToldChanges(database: Rows): Promise<number> {
  const [row] = await database.rows<{ count: number }>(
    `SELECT count(*)::float8 AS count FROM events WHERE kind IN ('operation', 'step') AND snapshot IS NOT NULL`,
  );
  return row?.count ?? 0;
}

async function readMachines(database: Rows): Promise<MachineFacts[]> {
  const rows = await database.rows<
    Omit<MachineFacts, 'bootCount' | 'staleEffects'> & { fake: FakeState | null }
  >(`
    SELECT machine_id AS "machineId", phase, active_operation_id AS "activeOperationId", state AS fake
    FROM machines LEFT JOIN fake_machines USING (machine_id)`);
  return rows.map(({ fake, ...machine }) => {
    const state = fake ? settle(fake, Date.now()) : null;
    return { ...machine, bootCount: state?.bootCount ?? 1, staleEffects: state?.staleEffects ?? 0 };
  });
}

export function readJournals(folder: string): JournalLine[][] {
  return readdirSync(folder).map((name) =>
    readFileSync(join(folder, name), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as JournalLine),
  );
}
