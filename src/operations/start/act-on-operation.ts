/** An operator's action on an operation, with the gates that the operation itself had to pass. */
import { type Actor, actorLabel } from '../../domain/actor.ts';
import { isTrue } from '../../domain/condition/condition.ts';
import type { InterventionCode } from '../../domain/condition/intervention.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import { mergeChanges } from '../../domain/machine/machine-change.ts';
import type { ServiceState } from '../../domain/machine/service-state.ts';
import { type CompletionPolicyName, changeAtEnd } from '../../domain/operation/completion-policy.ts';
import { isHardwareOperation } from '../../domain/operation/hardware-operation.ts';
import type { Operation } from '../../domain/operation/operation.ts';
import { isActive } from '../../domain/operation/operation-status.ts';
import type { OperationType } from '../../domain/operation/operation-type.ts';
import type { OperatorAction } from '../../domain/operation/operator-action.ts';
import { PHASE_GATED_TYPES, type PhaseGatedType } from '../../domain/operation/phase-gated-type.ts';
import { runTypeName } from '../../domain/v1/run-type.ts';
import { UNINSTALL_STAGES } from '../../domain/workflow/stage.ts';
import { decideAction } from '../../engine/action-moves.ts';
import type { AdvanceRules } from '../../engine/advance.ts';
import type { Job } from '../../engine/job.ts';
import { canUndo } from '../../steps/registry.ts';
import type { Database } from '../../store/database/database.ts';
import { actOnOperation } from '../../store/operations/writer/act-on-operation.ts';
import { cancelCall } from './cancel-operation.ts';
import { checkHardwareGates } from './hardware-work.ts';
import { checkFlags, checkPhase } from './start-operation.ts';
import { checkRunFlags } from './start-run.ts';

export interface ActionDependencies {
  readonly database: Database;
  readonly cancelHint: (operationId: string) => void;
  readonly wake: () => void;
}

export interface ActionCall {
  readonly operationId: string;
  readonly action: OperatorAction;
  readonly reason: string;
  readonly actor: Actor;
  /** What a hold is called in the operation's error; HELD where a person holds it. */
  readonly heldAs?: InterventionCode;
}

export async function takeAction(dependencies: ActionDependencies, call: ActionCall): Promise<Operation> {
  const { operationId, action, reason, actor } = call;
  const operation = await actOnOperation(dependencies.database, {
    operationId,
    actor,
    decide: (job, machine, latest) => {
      if (action === 'cancel' && isActive(job.status)) return { decision: 'stop', cancel: cancelCall(call) };
      const decided = decideAction(
        job,
        action,
        { actor, reason, now: new Date(), heldAs: call.heldAs ?? 'HELD' },
        ACTION_RULES,
      );
      if (decided.decision !== 'move' || !isActive(decided.move.job.status)) return decided;
      checkGates(job, machine);
      if (decided.move.job.status === 'compensating') checkUndoing(job, machine, latest);
      if (action === 'cancel') return decided;
      // A node that went back into scheduling since is taken out again before anything is done to it.
      const change = mergeChanges(decided.move.change ?? {}, takenOut(decided.move.job));
      return { ...decided, move: { ...decided.move, change } };
    },
  });
  // A hold takes the operation out of the hands of whoever works on it; everything else hands it to somebody.
  dependencies.cancelHint(operationId);
  dependencies.wake();
  return operation;
}

const REMOVING = { to: 'removing', owner: 'removal', from: ['retired'] } as const;
const DRAINING = { to: 'draining', owner: 'admin', from: ['active', 'offline', 'quarantined'] } as const;

function takenOut({ completionPolicy, steps, current }: Job): MachineChange {
  if (completionPolicy === 'removal') return { service: REMOVING };
  if (completionPolicy !== 'decommission') return {};
  const uninstalls = (UNINSTALL_STAGES as readonly string[]).includes(steps[current]?.name ?? '');
  return { service: uninstalls ? { ...DRAINING, otherwise: REMOVING } : DRAINING };
}

/** A machine that went back into service since must not be wiped because somebody retries an old operation. */
function checkGates(job: Job, machine: Machine): void {
  const completionPolicy = job.completionPolicy as CompletionPolicyName;
  if (isHardwareOperation(job.type)) {
    checkHardwareGates(machine, job.type);
    return;
  }
  if (completionPolicy === 'operation') checkFlags(machine);
  if (completionPolicy === 'run') checkRunFlags(machine, runTypeName(job.type as OperationType));
  if (completionPolicy === 'operation' && job.type in PHASE_GATED_TYPES)
    checkPhase(machine, job.type as PhaseGatedType);
}

/** Service states in which a machine is nobody's but its onboarding's. */
const BEFORE_SERVICE: readonly (ServiceState | null)[] = [
  null,
  'bootstrap_issued',
  'enrolling',
  'quarantined',
];

/** What was undone too late would take away what somebody has built on it since. */
function checkUndoing(job: Job, machine: Machine, latest: string): void {
  const { machineId, service, conditions } = machine;
  if (latest !== job.id) {
    throw tooLate(job, `${latest} has worked on ${machineId} since; undo that, or leave both`);
  }
  if (job.completionPolicy !== 'onboarding' || BEFORE_SERVICE.includes(service)) return;
  // One that was used again is offline from the start; that it failed has not been answered yet.
  if (service === 'offline' && isTrue(conditions, 'NeedsIntervention')) return;
  throw tooLate(job, `${machineId} is ${service} since; decommission it instead`);
}

function tooLate(job: Job, why: string): Fault {
  return new Fault('ACTION_NOT_APPLICABLE', {
    message: `what ${job.id} did can’t be undone any more: ${why}`,
    metadata: { operation_id: job.id },
    violations: [{ subject: `operations/${job.id}`, description: why }],
  });
}

/** Only what deciding an action needs of the engine's rules. */
const ACTION_RULES: AdvanceRules<MachineChange> = {
  backoff: { firstMs: 1_000, maxMs: 60_000 },
  maxUndoRetries: 3,
  maxDeaths: 10,
  canUndo,
  onEnd: endOf,
  merge: mergeChanges,
};

export function endOf(job: Job): MachineChange | null {
  return changeAtEnd(job.completionPolicy as CompletionPolicyName, {
    operationId: job.id,
    type: job.type as OperationType,
    status: job.status,
    failedStep: job.error?.step ?? '',
    failureCode: job.error?.code ?? '',
    failure: job.error?.message ?? '',
    canceledBy: job.cancel ? actorLabel(job.cancel.actor) : '',
    retires: job.steps.some(({ name }) => name === 'retire_gpuaas_node'),
  });
}
