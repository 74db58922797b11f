/** An operator's action on an operation. The operation has to pass the gates of its start again. */
import type { Scope } from '../../domain/access/scope.ts';
import type { Actor } from '../../domain/actor.ts';
import { isTrue } from '../../domain/condition/condition.ts';
import type { InterventionCode } from '../../domain/condition/intervention.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import { mergeChanges } from '../../domain/machine/machine-change.ts';
import type { ServiceState } from '../../domain/machine/service-state.ts';
import { isHardwareOperation } from '../../domain/operation/hardware-operation.ts';
import type { Operation } from '../../domain/operation/operation.ts';
import { isActive } from '../../domain/operation/operation-status.ts';
import type { OperationType } from '../../domain/operation/operation-type.ts';
import type { OperatorAction } from '../../domain/operation/operator-action.ts';
import { isPhaseGated, PHASE_GATED_TYPES } from '../../domain/operation/phase-gated-type.ts';
import { runTypeName } from '../../domain/v1/run-type.ts';
import { UNINSTALL_STAGES } from '../../domain/workflow/stage.ts';
import { decideAction } from '../../engine/action-moves.ts';
import type { AdvanceRules } from '../../engine/advance.ts';
import type { Job } from '../../engine/job.ts';
import { canUndo } from '../../steps/registry.ts';
import type { BudgetBook } from '../../store/budgets/budget-book.ts';
import type { Database } from '../../store/database/database.ts';
import { recordAction } from '../../store/operations/writer/record-action.ts';
import { endOf } from '../end-of-operation.ts';
import { checkFlags, checkPhase } from '../start/start-gates.ts';
import { checkHardwareGates } from '../start/start-on-hardware.ts';
import { checkRunFlags } from '../start/start-run.ts';
import { awaitsApproval } from './approve-operation.ts';
import { cancelCall } from './cancel-operation.ts';

export interface ActionDependencies {
  readonly database: Database;
  readonly budgets: BudgetBook;
  readonly notifyCancel: (operationId: string) => void;
  readonly wake: () => void;
}

export interface ActionCall {
  readonly operationId: string;
  readonly action: OperatorAction;
  readonly reason: string;
  readonly actor: Actor;
  readonly scope: Scope | null;
  /** The error code of a hold; HELD where a person holds the operation. */
  readonly heldAs?: InterventionCode;
}

export async function actOnOperation(dependencies: ActionDependencies, call: ActionCall): Promise<Operation> {
  const { operationId, action, reason, actor } = call;
  const operation = await recordAction(dependencies.database, {
    operationId,
    actor,
    checkWaiting: (waiting) => {
      if (action !== 'cancel') throw awaitsApproval(waiting);
    },
    scope: call.scope,
    // Giving an operation up is always possible.
    budgets: action === 'cancel' ? null : dependencies.budgets,
    decide: (before, machine, latest) => {
      if (action === 'cancel' && isActive(before.status))
        return { decision: 'stop', cancel: cancelCall(call) };
      const decided = decideAction(
        before,
        action,
        { actor, reason, now: new Date(), heldAs: call.heldAs ?? 'HELD' },
        ACTION_RULES,
      );
      if (decided.decision !== 'move') return decided;
      const { move } = decided;
      if (!isActive(move.job.status)) return decided;
      checkGates(before, machine);
      if (move.job.status === 'compensating') checkUndoing(before, machine, latest);
      if (action === 'cancel') return decided;
      // A node that returned to scheduling is drained again before the operation continues.
      const change = mergeChanges(move.change ?? {}, takenOutOfService(move.job));
      return { ...decided, move: { ...move, change } };
    },
  });
  // A hold stops the present holder; every other action makes the operation due.
  dependencies.notifyCancel(operationId);
  dependencies.wake();
  return operation;
}

const REMOVING = { to: 'removing', owner: 'removal', from: ['retired'] } as const;
const DRAINING = { to: 'draining', owner: 'admin', from: ['active', 'offline', 'quarantined'] } as const;

function takenOutOfService({ completionPolicy, steps, current }: Job): MachineChange {
  if (completionPolicy === 'removal') return { service: REMOVING };
  if (completionPolicy !== 'decommission') return {};
  const uninstalls = (UNINSTALL_STAGES as readonly string[]).includes(steps[current]?.name ?? '');
  return { service: uninstalls ? { ...DRAINING, otherwise: REMOVING } : DRAINING };
}

/** A retry must not wipe a machine that has returned to service since the operation failed. */
function checkGates({ type, completionPolicy }: Job, machine: Machine): void {
  if (type === 'INSPECT') {
    checkFlags(machine);
    return;
  }
  if (isHardwareOperation(type)) {
    checkHardwareGates(machine, type);
    return;
  }
  if (completionPolicy === 'operation') checkFlags(machine);
  if (completionPolicy === 'run') checkRunFlags(machine, runTypeName(type as OperationType));
  if (completionPolicy === 'operation' && isPhaseGated(type))
    checkPhase(machine, type, PHASE_GATED_TYPES[type].phases);
}

/** Service states of a machine that nothing but its onboarding has worked on. */
const BEFORE_SERVICE: readonly (ServiceState | null)[] = [
  null,
  'bootstrap_issued',
  'enrolling',
  'quarantined',
];

/** An undo that comes too late would remove what later work depends on. */
function checkUndoing({ id, completionPolicy }: Job, machine: Machine, latest: string): void {
  const { machineId, service, conditions } = machine;
  if (latest !== id)
    throw tooLate(id, `${latest} has worked on ${machineId} since; undo that, or leave both`);
  if (completionPolicy !== 'onboarding' || BEFORE_SERVICE.includes(service)) return;
  // A machine that was in service before starts its onboarding offline; an open failure means that it still is this one's.
  if (service === 'offline' && isTrue(conditions, 'NeedsIntervention')) return;
  throw tooLate(id, `${machineId} is ${service} since; decommission it instead`);
}

function tooLate(operationId: string, why: string): Fault {
  return new Fault('ACTION_NOT_APPLICABLE', {
    message: `what ${operationId} did can't be undone any more: ${why}`,
    metadata: { operation_id: operationId },
    violations: [{ subject: `operations/${operationId}`, description: why }],
  });
}

/** The engine's rules, as far as the decision of an action needs them. */
const ACTION_RULES: AdvanceRules<MachineChange> = {
  backoff: { firstMs: 1_000, maxMs: 60_000 },
  maxUndoRetries: 3,
  maxDeaths: 10,
  canUndo,
  onEnd: endOf,
  merge: mergeChanges,
};
