/**
 * Starts operations: many requests in one transaction. The machines are locked first, so `decide` sees what holds when the
 * rows are written; two requests for one machine in the same batch see each other. The unique index on active operations
 * enforces the rule of one active operation per machine whatever happens here, and store/budgets/limit-check.ts that no start
 * breaks a budget, and none of a rollout a limit of that rollout.
 */
import type { Scope } from '../../../domain/access/scope.ts';
import type { Actor } from '../../../domain/actor.ts';
import type { BudgetOverride } from '../../../domain/budget/budget.ts';
import type { Limit } from '../../../domain/budget/limit.ts';
import { Fault } from '../../../domain/error/fault.ts';
import type { NewEvent } from '../../../domain/event.ts';
import type { Machine } from '../../../domain/machine/machine.ts';
import type { MachineChange } from '../../../domain/machine/machine-change.ts';
import type { Approval } from '../../../domain/operation/approval.ts';
import type { CompletionPolicyName } from '../../../domain/operation/completion-policy.ts';
import type { Operation } from '../../../domain/operation/operation.ts';
import type { OperationType } from '../../../domain/operation/operation-type.ts';
import type { Plan } from '../../../domain/operation/plan.ts';
import type { StepDefinition } from '../../../domain/operation/step.ts';
import type { InstallFacts } from '../../../providers/network-installs.ts';
import { BUDGET_VERSION, type BudgetBook } from '../../budgets/budget-book.ts';
import { type Candidate, LimitCheck, OverLimit } from '../../budgets/limit-check.ts';
import { Coalescer } from '../../database/coalescer.ts';
import type { Database, Session } from '../../database/database.ts';
import { DatabaseAway } from '../../database/database-away.ts';
import { OPERATION_COLUMNS, type OperationRow, operationOf } from '../../database/rows.ts';
import { runTogether, type Statement } from '../../database/transaction.ts';
import { idsInScope } from '../../filter/scope-condition.ts';
import { lockMachinesToStart, writtenLayers } from '../../machines/machine-rows.ts';
import { readInstallFacts } from '../../nodes/install-facts.ts';
import {
  admitStarts,
  type RolloutStart,
  recordStarts,
  type StartedMachine,
  StartFenced,
} from '../../rollouts/rollout-start.ts';
import { progressOfOperation } from '../operation-progress.ts';
import { lockPlans } from '../plans.ts';
import { type ClaimedStart, claimNewOperation, type StarterClaims } from './claim-new-operation.ts';
import { decideOne, type Known, keyOf, limitsOf, type StartEffects } from './decide-start.ts';
import { createdAtOf, insertedOperations } from './insert-operations.ts';

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
  /** Why it is started; goes into the history. */
  readonly reason?: string;
  /** Starts although a budget is full. The limits below hold all the same. */
  readonly overrideBudget?: BudgetOverride | null;
  /** Limits that this start obeys beside the budgets. */
  readonly limits?: readonly Limit[];
  /** The rollout that the operation is part of, and the decision by which it starts. */
  readonly rollout?: RolloutStart | null;
  /** Throws a Fault where the machine may not take the operation. A machine or plan that does not exist is null. */
  readonly decide: (machine: Machine | null, plan: Plan | null, facts: InstallFacts) => NewOperation;
}

export interface Started {
  /** As it was created; it may have moved on in the same transaction. */
  readonly operation: Operation;
  readonly replayed: boolean;
  /** This replica has it already, or it has ended. */
  readonly claimed?: true;
}

/** Undoes the transaction; no caller sees it. */
class LimitPassed extends Error {}

type Outcome = Started | Fault | StartFenced;

/** Events reach their watchers after the transaction that writes them, so a larger one makes all of them later, and saves nothing. */
const LARGEST_BATCH = 64;

/** When the turn to write events is taken: before the limits are counted, or right before the events are written. */
type EventTurn = 'early' | 'late';

interface Fresh extends Readonly<StartEffects> {
  readonly request: StartRequest;
  readonly operation: Operation;
  readonly claimed: ClaimedStart | null;
}

/** With the version of the budgets in every row, so that a start without budgets sends no statement for them. */
const FIND_REPLAYS = `
  SELECT v.budget_version, o.* FROM (SELECT ${BUDGET_VERSION} AS budget_version) AS v
  LEFT JOIN (SELECT ${OPERATION_COLUMNS} FROM operations
    JOIN unnest($1::text[], $2::text[]) AS i(machine, request) ON machine_id = machine AND request_id = request) AS o
    ON true`;

export class OperationStarter {
  readonly #database: Database;
  readonly #budgets: BudgetBook;
  readonly #claims: StarterClaims | null;
  readonly #starts: Coalescer<StartRequest, Outcome>;

  /** Without claims, every operation that is started waits for a replica to claim it. */
  constructor(database: Database, budgets: BudgetBook, claims: StarterClaims | null = null) {
    this.#database = database;
    this.#budgets = budgets;
    this.#claims = claims;
    this.#starts = new Coalescer({
      maxBatch: LARGEST_BATCH,
      maxUnderWay: 3,
      turnShare: () => database.turnShare.value,
      flush: (requests) => this.#startAll(requests),
      isPoisoned: (error) => !(error instanceof DatabaseAway),
    });
  }

  async start(request: StartRequest): Promise<Started> {
    const outcome = await this.#starts.submit(request);
    if (outcome instanceof Error) throw outcome;
    return outcome;
  }

  /**
   * Where another start passed a limit of a rollout between the count and the commit, everything is done once more, with the turn
   * to write events taken before the count: then nothing commits in between.
   */
  async #startAll(requests: readonly StartRequest[]): Promise<Outcome[]> {
    try {
      return await this.#claimAndStart(requests, 'late');
    } catch (error) {
      if (error instanceof LimitPassed) return this.#claimAndStart(requests, 'early');
      throw error;
    }
  }

  /** What was claimed runs when it is committed. */
  async #claimAndStart(requests: readonly StartRequest[], eventTurn: EventTurn): Promise<Outcome[]> {
    if (this.#claims === null) return this.#startOnce(requests, eventTurn, () => null);
    const claims = this.#claims;
    const claim = claims.claims.open();
    try {
      const outcomes = await this.#startOnce(requests, eventTurn, (operation, machine) =>
        claimNewOperation(operation, machine, claims, claim),
      );
      claim.committed(claims.clock.now());
      return outcomes;
    } catch (error) {
      claim.failed(error);
      throw error;
    }
  }

  #startOnce(
    requests: readonly StartRequest[],
    eventTurn: EventTurn,
    claim: (operation: Operation, machine: Machine) => ClaimedStart | null,
  ): Promise<Outcome[]> {
    return this.#database.transaction(async (session) => {
      const { decided, fresh, machines, check } = await this.#decideAll(session, requests, eventTurn);
      const outcomes = await withFaults(decided, check);
      await recordStarts(session, startedMachines(requests, outcomes));
      if (fresh.length === 0) return outcomes;
      const created = fresh.map((start): Fresh => {
        const machine = start.approval === null ? machines.get(start.request.machineId) : undefined;
        const claimed = machine ? claim(start.operation, machine) : null;
        if (claimed) machines.set(start.request.machineId, claimed.machine);
        return { claimed, ...start };
      });
      const writes = this.#writes(created, machines);
      const isLast = eventTurn === 'early' || !check.isToBeRepeated;
      const [inserted] = await (isLast ? session.finish(writes) : runTogether(session, writes));
      if (!isLast && (await check.isPassed())) throw new LimitPassed();
      return withCreations(outcomes, created, createdAtOf(inserted));
    });
  }

  /** On machines that are locked; each decision sees those before it. */
  async #decideAll(
    session: Session,
    requests: readonly StartRequest[],
    eventTurn: EventTurn,
  ): Promise<Decided> {
    const isAdmitted = await admitStarts(session, requests);
    const visible = await visibleMachines(session, requests);
    // Sent together: the replays are read when the machines are locked.
    const [machines, { known, budgetVersion }] = await Promise.all([
      lockMachinesToStart(session, visible),
      findReplays(session, requests),
    ]);
    const plans = await lockPlans(
      session,
      requests.flatMap(({ planId }) => planId ?? []),
    );
    const facts = await readInstallFacts(session, machinesToInstall(requests, machines));
    const budgets = await this.#budgets.limits(session, budgetVersion);
    const check = await LimitCheck.open(session, candidatesOf(requests, machines, budgets), eventTurn);
    const fresh: Omit<Fresh, 'claimed'>[] = [];
    const decided = requests.map((request) => {
      if (!isAdmitted(request)) return new StartFenced(request.machineId);
      const effects: StartEffects = { machineEvents: [], approval: null, overridden: [] };
      const outcome = decideOne(request, { machines, known, plans, facts, budgets, check }, effects);
      if (isStarted(outcome) && !outcome.replayed) {
        fresh.push({ request, operation: outcome.operation, ...effects });
      }
      return outcome;
    });
    return { decided, fresh, machines, check };
  }

  #writes(created: readonly Fresh[], machines: ReadonlyMap<string, Machine>): Statement[] {
    const inserted = insertedOperations(
      created.map(({ request, operation, approval, claimed }) => {
        return { operation, approval, claimed, fingerprint: request.fingerprint };
      }),
      this.#claims?.claims.leaseMs ?? 0,
    );
    const waiting = created.some(({ claimed }) => claimed === null);
    const layers = writtenLayers(
      created.flatMap(({ request }) => machines.get(request.machineId) ?? []),
      created.flatMap((start) => [
        startedEvent(start),
        ...start.machineEvents,
        ...(start.claimed?.events ?? []),
      ]),
      waiting ? ['due'] : [],
    );
    return [inserted, layers];
  }
}

interface Decided {
  readonly decided: readonly (Outcome | OverLimit)[];
  readonly fresh: readonly Omit<Fresh, 'claimed'>[];
  readonly machines: Map<string, Machine>;
  readonly check: LimitCheck;
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

function candidatesOf(
  requests: readonly StartRequest[],
  machines: ReadonlyMap<string, Machine>,
  budgets: readonly Limit[],
): Candidate[] {
  return requests.flatMap((request) => {
    const limits = limitsOf(request, budgets);
    const machine = limits.length === 0 ? undefined : machines.get(request.machineId);
    return machine ? [{ machine, limits }] : [];
  });
}

function isStarted(outcome: Started | OverLimit | Fault): outcome is Started {
  return !(outcome instanceof Fault || outcome instanceof OverLimit);
}

/** Also those that were started before: then the answer to their commit was lost. */
function startedMachines(requests: readonly StartRequest[], outcomes: readonly Outcome[]): StartedMachine[] {
  return requests.flatMap(({ machineId, rollout }, index) => {
    const outcome = outcomes[index];
    if (!rollout || outcome === undefined || outcome instanceof Error) return [];
    return [{ machineId, rollout, operationId: outcome.operation.operationId }];
  });
}

/** Before anything is written: the machines of this batch that occupy a limit are not in the database yet. */
async function withFaults(decided: readonly (Outcome | OverLimit)[], check: LimitCheck): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const outcome of decided)
    outcomes.push(outcome instanceof OverLimit ? await check.fault(outcome) : outcome);
  return outcomes;
}

interface Replays {
  readonly known: Map<string, Known>;
  readonly budgetVersion: number;
}

type ReplayRow = { readonly budget_version: number } & (OperationRow | { readonly machine_id: null });

async function findReplays(session: Session, requests: readonly StartRequest[]): Promise<Replays> {
  const rows = await session.run<ReplayRow & Record<string, unknown>>('find-replays', FIND_REPLAYS, [
    requests.map(({ machineId }) => machineId),
    requests.map(({ requestId }) => requestId),
  ]);
  const known = rows.flatMap((row): [string, Known][] =>
    row.machine_id === null
      ? []
      : [
          [
            keyOf(row.machine_id, row.request_id),
            { operation: operationOf(row), fingerprint: row.request_fingerprint },
          ],
        ],
  );
  return { known: new Map(known), budgetVersion: rows[0]?.budget_version ?? 0 };
}

/** Machines that are not in the scope of the caller who names them are not even locked. */
async function visibleMachines(session: Session, requests: readonly StartRequest[]): Promise<string[]> {
  const ids = requests.filter(({ scope }) => scope === null).map(({ machineId }) => machineId);
  for (const { scope, machineId } of requests)
    if (scope !== null) ids.push(...(await idsInScope(session, scope, [machineId])));
  return ids;
}

function withCreations(outcomes: readonly Outcome[], created: readonly Fresh[], createdAt: Date): Outcome[] {
  const claims = new Map(created.map(({ operation, claimed }) => [operation, claimed]));
  return outcomes.map((outcome) => withCreation(outcome, createdAt, claims));
}

/** Of what was created by this transaction; a replay within the batch is of the same operation. */
function withCreation(
  outcome: Outcome,
  createdAt: Date,
  claims: ReadonlyMap<Operation, ClaimedStart | null>,
): Outcome {
  if (outcome instanceof Error) return outcome;
  const claimed = claims.get(outcome.operation);
  if (claimed === undefined) return outcome;
  const { replayed } = outcome;
  const operation = { ...outcome.operation, createdAt };
  return claimed === null ? { operation, replayed } : { operation, replayed, claimed: true };
}

function startedEvent({ request, operation, overridden }: Fresh): NewEvent {
  return {
    kind: 'operation',
    subject: operation.type,
    from: '',
    to: 'pending',
    actor: request.actor,
    comment: request.reason ?? '',
    metadata: {
      request_id: operation.requestId,
      params: operation.params,
      ...(operation.rolloutId !== '' && { rollout_id: operation.rolloutId }),
      ...(request.overrideBudget && {
        override_budget: { reason: request.overrideBudget.reason, budgets: overridden },
      }),
    },
    machineId: operation.machineId,
    operationId: operation.operationId,
    snapshot: progressOfOperation(operation),
  };
}
