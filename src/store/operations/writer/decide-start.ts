/** Decides the requests of one batch, in their order, on machines that are locked. Each sees what the ones before it did. */
import { hasTerms } from '../../../domain/access/scope.ts';
import type { Limit } from '../../../domain/budget/limit.ts';
import { Fault } from '../../../domain/error/fault.ts';
import type { NewEvent } from '../../../domain/event.ts';
import { takesOutOfService } from '../../../domain/machine/availability.ts';
import type { Machine } from '../../../domain/machine/machine.ts';
import { applyChange } from '../../../domain/machine/machine-change.ts';
import { WAITING_FOR_APPROVAL } from '../../../domain/operation/approval.ts';
import type { Operation } from '../../../domain/operation/operation.ts';
import { newStep } from '../../../domain/operation/step.ts';
import type { LimitCheck, OverLimit } from '../../budgets/limit-check.ts';
import type { AskedIn, StoredApproval } from '../../database/rows.ts';
import type { FactsFor } from '../../nodes/install-facts.ts';
import { activeFault, requestIdReused } from '../operation-faults.ts';
import type { LockedPlan } from '../plans.ts';
import type { NewOperation, Started, StartRequest } from './operation-starter.ts';

/** What is read for all requests of a batch; each decision adds to machines, known requests and use for the next ones. */
export interface BatchFacts {
  readonly machines: Map<string, Machine>;
  readonly known: Map<string, Known>;
  readonly plans: ReadonlyMap<string, LockedPlan>;
  readonly facts: FactsFor;
  /** The budgets that every start obeys. */
  readonly budgets: readonly Limit[];
  readonly check: LimitCheck;
}

/** The operation that an earlier request with the same id started. */
export interface Known {
  readonly operation: Operation;
  readonly fingerprint: string;
}

/** What a start brings about beside its operation; a decision fills it in. */
export interface StartEffects {
  machineEvents: readonly NewEvent[];
  approval: StoredApproval | null;
  /** The budgets that were full, and that an admin overrode. */
  overridden: readonly string[];
}

export function keyOf(machineId: string, requestId: string): string {
  return JSON.stringify([machineId, requestId]);
}

/**
 * A replay comes first, whatever has happened to the machine since; then the rules of `decide`; then the active operation; then
 * budgets and limits.
 */
export function decideOne(
  request: StartRequest,
  batch: BatchFacts,
  effects: StartEffects,
): Started | OverLimit | Fault {
  const { machines, known, plans, facts } = batch;
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
    if (machine?.activeOperationId) return activeFault(machineId, machine.activeOperationId);
    if (machine) {
      const over = takeOut(request, machine, operation, batch, effects);
      if (over) return over;
      const { approval, change = {} } = decided;
      const { operationId } = operation;
      const cause = { at: new Date(), actor: request.actor, operationId };
      const changed = applyChange(machine, approval ? {} : change, cause);
      const active = { activeOperationId: operationId, activeOperationType: operation.type };
      machines.set(machineId, { ...changed.machine, ...active });
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

/** The limits that a start obeys, and those that it counts for. */
export function limitsOf({ limits = [] }: StartRequest, budgets: readonly Limit[]): readonly Limit[] {
  return limits.length === 0 ? budgets : [...budgets, ...limits];
}

/** Null: the machine is out of service already, or every limit has room for it. */
function takeOut(
  request: StartRequest,
  machine: Machine,
  { operationId, type }: Operation,
  { budgets, check }: BatchFacts,
  effects: StartEffects,
): OverLimit | null {
  if (!takesOutOfService(type, machine)) return null;
  const all = limitsOf(request, budgets);
  const over = check.full(machine, request.overrideBudget ? (request.limits ?? []) : all, request.scope);
  if (over) return over;
  if (request.overrideBudget)
    effects.overridden = budgets.flatMap((budget) =>
      check.full(machine, [budget], request.scope) === null ? [] : [budget.name],
    );
  const { machineId } = machine;
  check.take(machine, { machineId, reason: 'operation', operationId, operationType: type });
  return null;
}

/** What an approval may rely on: a machine that has changed since is not what the operator asked about. */
export function askedIn({ phase, service, install }: Machine): AskedIn {
  return { phase, service, install };
}

function operationFor(request: StartRequest, fresh: NewOperation): Operation {
  const steps = fresh.steps.map(newStep);
  return {
    operationId: fresh.operationId,
    machineId: request.machineId,
    requestId: request.requestId,
    type: fresh.type,
    status: 'pending',
    planId: fresh.planId,
    completionPolicy: fresh.completionPolicy,
    params: fresh.params,
    steps: isRetried(request) ? steps.map((step) => ({ round: 1, ...step })) : steps,
    current: 0,
    error: null,
    waitingFor: fresh.approval ? WAITING_FOR_APPROVAL : '',
    approval: fresh.approval ?? null,
    cancelRequested: false,
    startedBy: request.startedBy,
    rolloutId: request.rollout?.rolloutId ?? '',
    createdAt: new Date(0),
    startedAt: null,
    finishedAt: null,
  };
}

/** An operator had a rollout start the machine again: as with a step that is retried, leftovers of the failure are not adopted. */
function isRetried({ rollout }: StartRequest): boolean {
  return rollout?.from === 'pending' && rollout.attempt > 1;
}
