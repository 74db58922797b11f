/**
 * Starts operations: many requests in one transaction. The machines are locked first, so `decide` sees what holds when the
 * rows are written; two requests for one machine in the same batch see each other. The unique index on active operations
 * enforces the rule of one active operation per machine whatever happens here.
 */
import { hasTerms, type Scope } from '../../../domain/access/scope.ts';
import type { Actor } from '../../../domain/actor.ts';
import { Fault } from '../../../domain/error/fault.ts';
import type { NewEvent } from '../../../domain/event.ts';
import type { Machine } from '../../../domain/machine/machine.ts';
import { applyChange, type MachineChange } from '../../../domain/machine/machine-change.ts';
import { type Approval, WAITING_FOR_APPROVAL } from '../../../domain/operation/approval.ts';
import type { CompletionPolicyName } from '../../../domain/operation/completion-policy.ts';
import type { Operation } from '../../../domain/operation/operation.ts';
import type { OperationType } from '../../../domain/operation/operation-type.ts';
import type { Plan } from '../../../domain/operation/plan.ts';
import { newStep, type StepDefinition } from '../../../domain/operation/step.ts';
import type { InstallFacts } from '../../../providers/network-installs.ts';
import { Coalescer } from '../../database/coalescer.ts';
import { type Database, isStatementError, type Session } from '../../database/database.ts';
import {
  type AskedIn,
  OPERATION_COLUMNS,
  type OperationRow,
  operationOf,
  type StoredApproval,
} from '../../database/rows.ts';
import { idsInScope } from '../../filter/scope-condition.ts';
import { lockMachines, writeMachines } from '../../machines/machine-rows.ts';
import { type FactsFor, readInstallFacts } from '../../nodes/install-facts.ts';
import { activeFault, requestIdReused } from '../operation-faults.ts';
import { progressOfOperation } from '../operation-progress.ts';
import { type LockedPlan, lockPlans } from '../plans.ts';
import { insertOperations } from './insert-operations.ts';

export interface NewOperation {
  readonly operationId: string;
  readonly type: OperationType;
  readonly planId: string;
  readonly completionPolicy: CompletionPolicyName;
  readonly params: Readonly<Record<string, string>>;
  readonly steps: readonly StepDefinition[];
  /** How the machine changes in the same transaction, or, where an approval is needed, in that of the approval. */
  readonly change?: MachineChange;
  readonly approval?: Approval | null;
}

export interface StartRequest {
  readonly machineId: string;
  readonly requestId: string;
  /** A digest of what the caller asked for; a replay must have the same one. */
  readonly fingerprint: string;
  readonly actor: Actor;
  /** A machine that is not in it does not exist for the caller. */
  readonly scope: Scope | null;
  readonly startedBy: string;
  /** A stored plan that `decide` reads; it can't change before the operation that references it is inserted. */
  readonly planId?: string | null;
  /** Whether `decide` needs the install layer's facts about this machine; they are empty otherwise. */
  readonly readsInstalls: (machine: Machine) => boolean;
  /** Throws a Fault where the machine may not take the operation. A machine or plan that does not exist is null. */
  readonly decide: (machine: Machine | null, plan: Plan | null, facts: InstallFacts) => NewOperation;
}

export interface Started {
  readonly operation: Operation;
  readonly replayed: boolean;
}

type Outcome = Started | Fault;

/** What a start brings about beside its operation; a decision fills it in. */
interface StartEffects {
  machineEvents: readonly NewEvent[];
  approval: StoredApproval | null;
}

interface Fresh extends Readonly<StartEffects> {
  readonly request: StartRequest;
  readonly operation: Operation;
}

const FIND_REPLAYS = `
  SELECT ${OPERATION_COLUMNS} FROM operations
  JOIN unnest($1::text[], $2::text[]) AS i(machine, request) ON machine_id = machine AND request_id = request`;

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
      const machines = await lockMachines(session, await visibleMachines(session, requests));
      const known = await findReplays(session, requests);
      const plans = await lockPlans(
        session,
        requests.flatMap(({ planId }) => planId ?? []),
      );
      const facts = await readInstallFacts(session, machinesToInstall(requests, machines));
      const fresh: Fresh[] = [];
      const outcomes = requests.map((request) => {
        const effects: StartEffects = { machineEvents: [], approval: null };
        const outcome = decideOne(request, { machines, known, plans, facts }, effects);
        if (!(outcome instanceof Fault) && !outcome.replayed) {
          fresh.push({ request, operation: outcome.operation, ...effects });
        }
        return outcome;
      });
      if (fresh.length === 0) return outcomes;
      const createdAt = await insertOperations(
        session,
        fresh.map(({ request, operation, approval }) => ({
          ...operation,
          approval,
          fingerprint: request.fingerprint,
        })),
      );
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

/** What is read for all requests of a batch; each decision adds to machines and known requests for the next ones. */
interface BatchFacts {
  readonly machines: Map<string, Machine>;
  readonly known: Map<string, Known>;
  readonly plans: ReadonlyMap<string, LockedPlan>;
  readonly facts: FactsFor;
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

/** Machines that are not in the scope of the caller who names them are not even locked. */
async function visibleMachines(session: Session, requests: readonly StartRequest[]): Promise<string[]> {
  const ids = requests.filter(({ scope }) => scope === null).map(({ machineId }) => machineId);
  for (const { scope, machineId } of requests)
    if (scope !== null) ids.push(...(await idsInScope(session, scope, [machineId])));
  return ids;
}

/** A replay comes first, whatever has happened to the machine since; then the rules of `decide`; then the active operation. */
function decideOne(
  request: StartRequest,
  { machines, known, plans, facts }: BatchFacts,
  effects: StartEffects,
): Outcome {
  const { machineId, requestId, fingerprint, scope } = request;
  const key = keyOf(machineId, requestId);
  const locked = machines.get(machineId) ?? null;
  const machine = locked !== null && scope !== null && !scope.contains(locked) ? null : locked;
  const replayed = machine === null && scope !== null ? undefined : known.get(key);
  if (replayed && replayed.fingerprint !== fingerprint) return requestIdReused(replayed.operation);
  if (replayed) return { operation: replayed.operation, replayed: true };
  try {
    const stored = plans.get(request.planId ?? '');
    const plan = stored && hasTerms(scope, stored.scopeTerms) ? stored.plan : null;
    const decided = request.decide(machine, plan, facts(scope));
    const operation = operationFor(request, decided);
    const { operationId } = operation;
    if (machine?.activeOperationId) return activeFault(machineId, machine.activeOperationId);
    if (machine) {
      const { approval, change = {} } = decided;
      const cause = { at: new Date(), actor: request.actor, operationId };
      const changed = applyChange(machine, approval ? {} : change, cause);
      machines.set(machineId, { ...changed.machine, activeOperationId: operationId });
      effects.machineEvents = changed.events;
      if (approval) effects.approval = { ...approval, change, askedIn: askedIn(machine) };
    }
    known.set(key, { operation, fingerprint });
    return { operation, replayed: false };
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

/** What an approval may rely on: a machine that has changed since is not what the operator asked about. */
export function askedIn({ phase, service, install }: Machine): AskedIn {
  return { phase, service, install };
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
    waitingFor: fresh.approval ? WAITING_FOR_APPROVAL : '',
    approval: fresh.approval ?? null,
    cancelRequested: false,
    startedBy: request.startedBy,
    createdAt: new Date(0),
    startedAt: null,
    finishedAt: null,
  };
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
