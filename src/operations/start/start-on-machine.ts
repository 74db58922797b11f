/**
 * The one way to start an operation, whichever verb asks for it: find the operation that the same request started before,
 * or decide on the locked machine and insert a new one. The order of the checks is part of each verb's API: `decide` makes
 * them in its own order, after the replay and the machine, and before the active operation.
 */
import type { Scope } from '../../domain/access/scope.ts';
import { type Actor, actorLabel, isPerson, type Role, roleCovers } from '../../domain/actor.ts';
import type { BudgetOverride } from '../../domain/budget/budget.ts';
import type { Limit } from '../../domain/budget/limit.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { type Approval, type ApprovalRule, approvalFor } from '../../domain/operation/approval.ts';
import type { Operation } from '../../domain/operation/operation.ts';
import type { Plan } from '../../domain/operation/plan.ts';
import type { StepDefinition } from '../../domain/operation/step.ts';
import type { InstallFacts } from '../../providers/network-installs.ts';
import type { Provider } from '../../providers/provider.ts';
import { checkStart } from '../../steps/start-checks.ts';
import type { NewOperation, OperationStarter } from '../../store/operations/writer/operation-starter.ts';
import type { RolloutStart } from '../../store/rollouts/rollout-start.ts';
import { machineNotFound } from '../machines/machine-not-found.ts';
import { providerOf } from './start-gates.ts';

export interface StartDependencies {
  readonly starter: OperationStarter;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly newOperationId: () => string;
  /** Which operations wait until another operator approves. */
  readonly approvalRules: readonly ApprovalRule[];
  /** Makes this replica claim the new operation at once. */
  readonly wake: () => void;
  /** A new operation is stored. */
  readonly onStarted: (operation: Operation) => void;
}

export interface MachineCall {
  readonly machineId: string;
  readonly requestId: string;
  readonly actor: Actor;
  readonly scope: Scope | null;
  /** Why; goes into the history. */
  readonly reason?: string;
  /** Starts although a disruption budget is full; for admins. */
  readonly overrideBudget?: BudgetOverride | null;
  /** Limits that the start obeys beside the budgets. */
  readonly limits?: readonly Limit[];
  /** The rollout that it is part of. */
  readonly rollout?: RolloutStart;
  /** The least role that approved it before, as the gate of a wave: rules that need no more do not ask again. */
  readonly approvedAs?: Role | null;
}

/** What `decide` works with. */
export interface StartContext {
  readonly machine: Machine;
  /** The stored plan; null when none was asked for or none exists. */
  readonly plan: Plan | null;
  /** Throws where the machine's provider is not configured. */
  readonly provider: () => Provider;
  /** As "role:name"; empty where nothing is started. */
  readonly startedBy: string;
  /** Refuses steps that could only fail on this machine, or on the machine as the steps will find it. */
  readonly checkSteps: (steps: readonly StepDefinition[], asFound?: Machine) => void;
}

export interface StartRules {
  /** What makes two requests the same: a replay with other content is refused. */
  readonly fingerprint: readonly unknown[];
  /** A stored plan that `decide` needs. */
  readonly storedPlanId?: string | null;
  /** Throws a Fault where the machine may not take the operation. */
  readonly decide: (context: StartContext) => Omit<NewOperation, 'operationId'>;
}

export async function startOnMachine(
  { starter, providers, newOperationId, approvalRules, wake, onStarted }: StartDependencies,
  call: MachineCall,
  rules: StartRules,
): Promise<Operation> {
  const { machineId, requestId, actor, scope } = call;
  const started = await starter.start({
    machineId,
    requestId,
    fingerprint: JSON.stringify(rules.fingerprint),
    actor,
    scope,
    startedBy: actorLabel(actor),
    reason: call.reason ?? '',
    overrideBudget: call.overrideBudget ?? null,
    limits: call.limits ?? [],
    rollout: call.rollout ?? null,
    planId: rules.storedPlanId ?? null,
    readsInstalls: (machine) => readsInstalls(machine, providers),
    decide: (machine, plan, facts) => {
      if (!machine) throw machineNotFound(machineId);
      const startedBy = actorLabel(actor);
      const decided = decideOn(rules, { machine, plan, facts, providers, startedBy });
      // What the server starts by itself was decided by its configuration, or by an operator before.
      const asked = isPerson(actor) ? approvalFor(approvalRules, { machine, ...decided }, new Date()) : null;
      const approval = asked && isApproved(asked, call.approvedAs ?? null) ? null : asked;
      return { operationId: newOperationId(), ...decided, approval };
    },
  });
  if (!started.replayed) onStarted(started.operation);
  if (!started.replayed && !started.claimed) wake();
  return started.operation;
}

function isApproved({ approverRole }: Approval, approvedAs: Role | null): boolean {
  return approvedAs !== null && roleCovers(approvedAs, approverRole);
}

/** What a decision is made from; all of it is read before. */
export interface DecisionFacts {
  readonly machine: Machine;
  readonly plan: Plan | null;
  readonly facts: InstallFacts;
  readonly providers: ReadonlyMap<string, Provider>;
  /** Absent where nothing is started. */
  readonly startedBy?: string;
}

/** Decides without starting anything: a preview asks the same rules as the start itself. Throws the refusal. */
export function decideOn(
  rules: StartRules,
  { machine, plan, facts, providers, startedBy = '' }: DecisionFacts,
): Omit<NewOperation, 'operationId'> {
  const provider = () => providerOf(machine, providers);
  return rules.decide({
    machine,
    plan,
    provider,
    startedBy,
    checkSteps: (steps, asFound = machine) => checkStart(steps, asFound, provider(), facts),
  });
}

/** Whether a decision needs the install layer's facts about the machine. */
export function readsInstalls({ spec }: Machine, providers: ReadonlyMap<string, Provider>): boolean {
  return providers.get(spec.provider)?.installsOverNetwork ?? false;
}

/** The fingerprint of a verb with parameters, whatever their order. */
export function fingerprintOf(type: string, params: Readonly<Record<string, string>>): readonly unknown[] {
  return [type, Object.entries(params).sort()];
}
