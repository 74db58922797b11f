/**
 * Starts operations: many requests, one transaction. The machines are locked first, so what `decide` sees is
 * what holds when the rows are written; two requests for one machine in the same batch see each other. The
 * unique index on active operations stands behind all of this and can't be talked around.
 */
import type { Actor } from '../../domain/actor.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { NewEvent } from '../../domain/event.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { applyChange, type MachineChange } from '../../domain/machine/machine-change.ts';
import type { CompletionPolicyName } from '../../domain/operation/completion-policy.ts';
import type { Operation } from '../../domain/operation/operation.ts';
import type { OperationType } from '../../domain/operation/operation-type.ts';
import type { Plan } from '../../domain/operation/plan.ts';
import { newStep, type StepDefinition } from '../../domain/operation/step.ts';
import type { InstallFacts } from '../../providers/network-installs.ts';
import { Coalescer } from '../database/coalescer.ts';
import { type Database, isStatementError, type Session } from '../database/database.ts';
import { OPERATION_COLUMNS, type OperationRow, operationOf } from '../database/rows.ts';
import { lockMachines, writeMachines } from '../machines/machine-rows.ts';
import { readInstallFacts } from '../nodes/install-facts.ts';
import { progressOfOperation } from './operation-progress.ts';
import { lockPlans } from './plans.ts';

export interface NewOperation {
  readonly operationId: string;
  readonly type: OperationType;
  readonly planId: string;
  readonly completionPolicy: CompletionPolicyName;
  readonly params: Readonly<Record<string, string>>;
  readonly steps: readonly StepDefinition[];
  /** What becomes of the machine in the same moment. */
  readonly change?: MachineChange;
}

export interface StartRequest {
  readonly machineId: string;
  readonly requestId: string;
  /** Of everything that the caller asked for; a replay must have the same. */
  readonly fingerprint: string;
  readonly actor: Actor;
  readonly startedBy: string;
  /** A stored plan to read for `decide`, and to keep as it is until the operation that references it is there. */
  readonly planId?: string | null;
  /** Whether `decide` reads the install layer's facts of this machine; they are empty otherwise. */
  readonly readsInstalls: (machine: Machine) => boolean;
  /** Throws a Fault when the machine may not be worked on like this; null when there is no such machine or plan. */
  readonly decide: (machine: Machine | null, plan: Plan | null, facts: InstallFacts) => NewOperation;
}

export interface Started {
  readonly operation: Operation;
  readonly replayed: boolean;
}

type Outcome = Started | Fault;

interface Fresh {
  readonly request: StartRequest;
  readonly operation: Operation;
  readonly machineEvents: readonly NewEvent[];
}

const FIND_REPLAYS = `
  SELECT ${OPERATION_COLUMNS} FROM operations
  JOIN unnest($1::text[], $2::text[]) AS i(machine, request) ON machine_id = machine AND request_id = request`;

const INSERT = `
  INSERT INTO operations (operation_id, machine_id, request_id, request_fingerprint, type, status, plan_id, contract, params,
    steps, started_by)
  SELECT "operationId", "machineId", "requestId", fingerprint, type, 'pending', "planId", "completionPolicy", params, steps, "startedBy"
  FROM jsonb_to_recordset($1::jsonb) AS i("operationId" text, "machineId" text, "requestId" text, fingerprint text,
    type text, "planId" text, "completionPolicy" text, params jsonb, steps jsonb, "startedBy" text)
  RETURNING operation_id, created_at`;

export class OperationStarter {
  readonly #database: Database;
  readonly #starts: Coalescer<StartRequest, Outcome>;

  constructor(database: Database) {
    this.#database = database;
    this.#starts = new Coalescer({
      maxBatch: 500,
      maxUnderWay: 2,
      flush: (requests) => this.#startAll(requests),
      isPoisoned: isStatementError,
    });
  }

  async start(request: StartRequest): Promise<Started> {
    const outcome = await this.#starts.submit(request);
    if (outcome instanceof Fault) throw outcome;
    return outcome;
  }

  #startAll(requests: readonly StartRequest[]): Promise<Outcome[]> {
    return this.#database.transaction(async (session) => {
      const machines = await lockMachines(
        session,
        requests.map(({ machineId }) => machineId),
      );
      const known = await findReplays(session, requests);
      const plans = await lockPlans(
        session,
        requests.flatMap(({ planId }) => planId ?? []),
      );
      const facts = await readInstallFacts(session, machinesToInstall(requests, machines));
      const fresh: Fresh[] = [];
      const outcomes = requests.map((request) => {
        const machineEvents: NewEvent[] = [];
        const outcome = decideOne(request, { machines, known, plans, facts }, machineEvents);
        if (!(outcome instanceof Fault) && !outcome.replayed) {
          fresh.push({ request, operation: outcome.operation, machineEvents });
        }
        return outcome;
      });
      if (fresh.length === 0) return outcomes;
      const createdAt = await insertAll(session, fresh);
      await writeMachines(
        session,
        fresh.flatMap(({ request }) => machines.get(request.machineId) ?? []),
        fresh.flatMap((started) => [startedEvent(started), ...started.machineEvents]),
        ['due'],
      );
      return outcomes.map((outcome) => withCreation(outcome, createdAt));
    });
  }
}

/** What was read for all requests of a batch; machines and replays grow as the batch is decided. */
interface BatchFacts {
  readonly machines: Map<string, Machine>;
  readonly known: Map<string, Known>;
  readonly plans: ReadonlyMap<string, Plan>;
  readonly facts: InstallFacts;
}

function machinesToInstall(
  requests: readonly StartRequest[],
  machines: ReadonlyMap<string, Machine>,
): string[] {
  return requests.flatMap(({ machineId, readsInstalls }) => {
    const machine = machines.get(machineId);
    return machine && readsInstalls(machine) ? [machineId] : [];
  });
}

interface Known {
  readonly operation: Operation;
  readonly fingerprint: string;
}

function keyOf(machineId: string, requestId: string): string {
  return JSON.stringify([machineId, requestId]);
}

async function findReplays(session: Session, requests: readonly StartRequest[]): Promise<Map<string, Known>> {
  const rows = await session.run<OperationRow>('find-replays', FIND_REPLAYS, [
    requests.map(({ machineId }) => machineId),
    requests.map(({ requestId }) => requestId),
  ]);
  return new Map(
    rows.map((row) => [
      keyOf(row.machine_id, row.request_id),
      { operation: operationOf(row), fingerprint: row.request_fingerprint },
    ]),
  );
}

/** Replay first, whatever the machine's phase is by now; then the caller's own rules; then the active operation. */
function decideOne(
  request: StartRequest,
  { machines, known, plans, facts }: BatchFacts,
  machineEvents: NewEvent[],
): Outcome {
  const { machineId, requestId, fingerprint } = request;
  const key = keyOf(machineId, requestId);
  const replayed = known.get(key);
  if (replayed && replayed.fingerprint !== fingerprint) return reused(request, replayed);
  if (replayed) return { operation: replayed.operation, replayed: true };
  const machine = machines.get(machineId) ?? null;
  try {
    const plan = plans.get(request.planId ?? '') ?? null;
    const decided = request.decide(machine, plan, facts);
    const operation = operationFor(request, decided);
    const { operationId } = operation;
    if (machine?.activeOperationId) return activeFault(machineId, machine.activeOperationId);
    if (machine) {
      const cause = { at: new Date(), actor: request.actor, operationId };
      const changed = applyChange(machine, decided.change ?? {}, cause);
      machines.set(machineId, { ...changed.machine, activeOperationId: operationId });
      machineEvents.push(...changed.events);
    }
    known.set(key, { operation, fingerprint });
    return { operation, replayed: false };
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

function operationFor(request: StartRequest, fresh: NewOperation): Operation {
  return {
    operationId: fresh.operationId,
    machineId: request.machineId,
    requestId: request.requestId,
    type: fresh.type,
    status: 'pending',
    planId: fresh.planId,
    completionPolicy: fresh.completionPolicy,
    params: fresh.params,
    steps: fresh.steps.map(newStep),
    current: 0,
    error: null,
    waitingFor: '',
    cancelRequested: false,
    startedBy: request.startedBy,
    createdAt: new Date(0),
    startedAt: null,
    finishedAt: null,
  };
}

async function insertAll(session: Session, fresh: readonly Fresh[]): Promise<Map<string, Date>> {
  const rows = fresh.map(({ request, operation }) => ({ ...operation, fingerprint: request.fingerprint }));
  const inserted = await session.run<{ operation_id: string; created_at: Date }>(
    'insert-operations',
    INSERT,
    [JSON.stringify(rows)],
  );
  return new Map(inserted.map((row) => [row.operation_id, row.created_at]));
}

function withCreation(outcome: Outcome, createdAt: Map<string, Date>): Outcome {
  if (outcome instanceof Fault) return outcome;
  const at = createdAt.get(outcome.operation.operationId);
  return at ? { ...outcome, operation: { ...outcome.operation, createdAt: at } } : outcome;
}

function startedEvent({ request, operation }: Fresh): NewEvent {
  return {
    kind: 'operation',
    subject: operation.type,
    from: '',
    to: 'pending',
    actor: request.actor,
    comment: '',
    metadata: { request_id: operation.requestId, params: operation.params },
    machineId: operation.machineId,
    operationId: operation.operationId,
    snapshot: progressOfOperation(operation),
  };
}

function reused(request: StartRequest, known: Known): Fault {
  const { operationId, type } = known.operation;
  return new Fault('REQUEST_ID_REUSED', {
    message: `request_id ${request.requestId} already started ${operationId} (${type}) on ${request.machineId} with other content; use a new request_id for new work`,
    metadata: { operation_id: operationId, machine_id: request.machineId, request_id: request.requestId },
  });
}

export function activeFault(machineId: string, operationId: string): Fault {
  return new Fault('OPERATION_ACTIVE', {
    message: `${machineId} has an active operation, ${operationId}; wait for it or cancel it`,
    metadata: { machine_id: machineId, operation_id: operationId },
    violations: [{ subject: `operations/${operationId}`, description: 'is still active' }],
  });
}
