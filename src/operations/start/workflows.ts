/** Document 3's workflows: onboarding, decommission, drain and removal, and the service states that people set. */
import { type Actor, type ActorKind, actorLabel } from '../../domain/actor.ts';
import { inAnyCase } from '../../domain/any-case.ts';
import { upstreamDisagreement } from '../../domain/condition/drift.ts';
import { instantWords } from '../../domain/condition/upstream-view.ts';
import { Fault, invalidField, missingField } from '../../domain/error/fault.ts';
import { nextStates, statesOf } from '../../domain/lifecycle/lifecycle.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { applyChange, type MachineChange } from '../../domain/machine/machine-change.ts';
import { serviceLifecycle } from '../../domain/machine/service-state.ts';
import type { CompletionPolicyName } from '../../domain/operation/completion-policy.ts';
import type { Operation } from '../../domain/operation/operation.ts';
import type { WorkflowType } from '../../domain/operation/operation-type.ts';
import type { StepDefinition } from '../../domain/operation/step.ts';
import {
  DECOMMISSION_MODES,
  type DecommissionMode,
  DRAIN_STAGES,
  ONBOARDING,
  REMOVE_STAGES,
  STAGES,
  type StageName,
} from '../../domain/workflow/stage.ts';
import {
  type ByHand,
  OWNED_BY_OPERATIONS,
  serviceStatesByHand,
  type WorkflowKind,
  workflowBegins,
} from '../../domain/workflow/workflow-gate.ts';
import { defineStep } from '../../steps/registry.ts';
import { checkStart } from '../../steps/start-checks.ts';
import { poolExists } from '../../store/agents/pools.ts';
import type { Database } from '../../store/database/database.ts';
import { changeMachine, findMachine } from '../../store/machines/machines.ts';
import { lastServiceMover } from '../../store/machines/service-machines.ts';
import { findOperation } from '../../store/operations/find-operations.ts';
import { activeFault } from '../../store/operations/operation-faults.ts';
import {
  checkFlags,
  machineNotFound,
  providerOf,
  readsInstalls,
  type StartDependencies,
} from './start-operation.ts';

export interface WorkflowDependencies extends StartDependencies {
  readonly database: Database;
}

export interface WorkflowCall {
  readonly machineId: string;
  readonly requestId: string;
  readonly actor: Actor;
}

interface Workflow {
  readonly type: WorkflowType;
  readonly completionPolicy: CompletionPolicyName;
  readonly params: Readonly<Record<string, string>>;
  readonly stages: readonly StageName[];
  readonly config: Readonly<Record<string, unknown>>;
  readonly kind: WorkflowKind;
}

export async function onboardMachine(
  dependencies: WorkflowDependencies,
  call: WorkflowCall & { readonly pool: string },
): Promise<Operation> {
  const { pool } = call;
  if (pool === '') throw missingField('pool');
  if (!(await poolExists(dependencies.database, pool))) throw noPool(pool);
  await checkQuarantine(dependencies.database, call.machineId);
  return start(dependencies, call, {
    type: 'ONBOARD',
    completionPolicy: 'onboarding',
    params: { pool },
    stages: ONBOARDING,
    config: { pool },
    kind: 'ONBOARD',
  });
}

/** What a person quarantined is being investigated: to deploy it again would destroy what there is to see. */
async function checkQuarantine(database: Database, machineId: string): Promise<void> {
  const machine = await findMachine(database, machineId);
  if (machine?.service !== 'quarantined') return;
  const mover = await lastServiceMover(database, machineId);
  if (mover === null || !PEOPLE.includes(mover.actorKind)) return;
  throw new Fault('QUARANTINED_BY_PERSON', {
    message: `${mover.actorKind}:${mover.actorId} quarantined ${machineId} (${mover.comment}), and only a person lets it go: set it active, or drain it and onboard it from retired`,
    metadata: { machine_id: machineId, actor: `${mover.actorKind}:${mover.actorId}` },
    violations: [{ subject: `machines/${machineId}`, description: 'a person quarantined it' }],
  });
}

const PEOPLE: readonly ActorKind[] = ['admin', 'operator'];

export async function decommissionMachine(
  dependencies: WorkflowDependencies,
  call: WorkflowCall & { readonly mode: DecommissionMode },
): Promise<Operation> {
  const { mode } = call;
  return start(dependencies, call, {
    type: 'DECOMMISSION',
    completionPolicy: 'decommission',
    params: { mode },
    stages: DECOMMISSION_MODES[mode].stages,
    config: { erase: mode === 'reimage' || mode === 'full_decommission' },
    kind: mode,
  });
}

export async function drainMachine(
  dependencies: WorkflowDependencies,
  call: WorkflowCall,
): Promise<Operation> {
  return startOrJoin(dependencies, call, {
    type: 'DRAIN',
    completionPolicy: 'decommission',
    params: {},
    stages: DRAIN_STAGES,
    config: {},
    kind: 'DRAIN',
  });
}

export async function removeMachine(
  dependencies: WorkflowDependencies,
  call: WorkflowCall,
): Promise<Operation> {
  return startOrJoin(dependencies, call, {
    type: 'REMOVE',
    completionPolicy: 'removal',
    params: {},
    stages: REMOVE_STAGES,
    config: {},
    kind: 'REMOVE',
  });
}

/** Document 3 §8: what is draining or removing already, with an operation that owns that, needs no second one. */
async function startOrJoin(
  dependencies: WorkflowDependencies,
  call: WorkflowCall,
  workflow: Workflow,
): Promise<Operation> {
  try {
    return await start(dependencies, call, workflow);
  } catch (error) {
    if (!(error instanceof Fault && error.reason === 'OPERATION_ACTIVE')) throw error;
    const { database } = dependencies;
    const operation = await findOperation(database, error.metadata.operation_id ?? '');
    const machine = await findMachine(database, call.machineId);
    const isOwned = machine?.service === (workflow.kind === 'DRAIN' ? 'draining' : 'removing');
    if (!operation || !isOwned || operation.cancelRequested) throw error;
    return operation;
  }
}

function noPool(pool: string): Fault {
  return invalidField('pool', `there is no pool ${JSON.stringify(pool.slice(0, 80))}`);
}

async function start(
  dependencies: WorkflowDependencies,
  call: WorkflowCall,
  workflow: Workflow,
): Promise<Operation> {
  const { machineId, requestId, actor } = call;
  const { type, completionPolicy, params } = workflow;
  const started = await dependencies.starter.start({
    machineId,
    requestId,
    fingerprint: JSON.stringify([type, Object.entries(params).sort()]),
    actor,
    startedBy: actorLabel(actor),
    readsInstalls: readsInstalls(dependencies.providers),
    decide: (machine, _plan, facts) => {
      if (!machine) throw machineNotFound(machineId);
      const steps = stepsOf(workflow);
      if (type === 'ONBOARD') checkFlags(machine);
      checkStart(steps, machine, providerOf(machine, dependencies.providers), facts);
      // The state that it begins in, and the operation that owns it, come into being together.
      const change = workflowBegins(workflow.kind)[machine.service ?? 'none'];
      if (!change) throw wrongService(machine, workflow);
      return {
        operationId: dependencies.newOperationId(),
        type,
        planId: '',
        completionPolicy,
        params,
        steps,
        change,
      };
    },
  });
  if (!started.replayed) dependencies.wake();
  return started.operation;
}

function stepsOf({ stages, config }: Workflow): StepDefinition[] {
  return stages.map((stage) => {
    const { title, timeoutSeconds, maxRetries } = STAGES[stage];
    return defineStep({
      name: stage,
      kind: 'stage',
      config: { stage, ...config },
      timeoutSeconds,
      maxRetries,
      title,
      doneTitle: stage,
    });
  });
}

function wrongService({ machineId, service }: Machine, { type, kind }: Workflow): Fault {
  const states = Object.keys(workflowBegins(kind)).map((state) =>
    state === 'none' ? 'in no service yet' : state,
  );
  return new Fault('WRONG_SERVICE_STATE', {
    message: `${machineId} is ${service ?? 'in no service'}; ${type} needs ${states.join(', ')}`,
    metadata: { machine_id: machineId, service: service ?? '', type },
    violations: [{ subject: `machines/${machineId}`, description: `service is ${service ?? 'none'}` }],
  });
}

export interface SetServiceCall {
  readonly machineId: string;
  readonly to: string;
  readonly reason: string;
  readonly actor: Actor;
  /** Although the upstream disagrees. */
  readonly force: boolean;
}

export async function setServiceState(database: Database, call: SetServiceCall): Promise<Machine> {
  const { machineId, reason, actor } = call;
  const machine = await changeMachine(database, machineId, (before) => {
    const { to, owner } = checkService(before, inAnyCase(statesOf(serviceLifecycle), call.to) ?? call.to);
    if (before.activeOperationId !== null) throw activeFault(machineId, before.activeOperationId);
    const at = new Date();
    const disagreement = to === 'active' ? upstreamDisagreement(before, to) : null;
    if (disagreement !== null && !call.force) throw upstreamDisagrees(before, disagreement);
    const change = { service: { to, owner, comment: reason } } as const;
    const forced = disagreement === null ? change : forcing(before, { ...call, at, to, owner, disagreement });
    return applyChange(before, forced, { at, actor, operationId: null });
  });
  if (!machine) throw machineNotFound(machineId);
  return machine;
}

/** The upstream's very state is accepted: drift does not take the machine out again before it says something else. */
function forcing(
  { observed }: Machine,
  call: SetServiceCall & Pick<ByHand, 'to' | 'owner'> & { readonly at: Date; readonly disagreement: string },
): MachineChange {
  const { to, owner, reason, actor, at, disagreement } = call;
  const accepted = { by: actorLabel(actor), reason, at: at.toISOString() };
  const comment = `forced, although ${disagreement}: ${reason}`;
  const metadata = { forced: true, reason, source: observed?.source, upstream_state: observed?.state };
  return {
    service: { to, owner, comment, metadata },
    ...(observed && { observed: { ...observed, accepted } }),
  };
}

function upstreamDisagrees({ machineId, observed }: Machine, disagreement: string): Fault {
  const since = instantWords(new Date(observed?.at ?? 0));
  return new Fault('UPSTREAM_DISAGREES', {
    message: `${disagreement} (since ${since}). Onboard it again, or correct it in ${observed?.source}; to set it all the same, force it with a reason`,
    metadata: {
      machine_id: machineId,
      source: observed?.source ?? '',
      upstream_state: observed?.state ?? '',
    },
    violations: [{ subject: `machines/${machineId}`, description: disagreement }],
  });
}

function checkService({ service }: Machine, to: string): Pick<ByHand, 'to' | 'owner'> {
  const byHand = serviceStatesByHand(service);
  const known = byHand.find((state) => state.to === to);
  if (known) return known;
  // Somebody else's transition: the judge of transitions says whose it is.
  const others = service === null ? [] : nextStates(serviceLifecycle, service);
  const other = others.find((state) => state === to && !OWNED_BY_OPERATIONS.includes(state));
  if (other) return { to: other, owner: 'operator' };
  const valid = byHand.map((state) => state.to).join(', ') || 'nothing';
  throw new Fault('ILLEGAL_TRANSITION', {
    message: `service can’t be set from ${service ?? 'none'} to ${to.slice(0, 40)} by hand; it can be set to ${valid}`,
    metadata: { from: service ?? '', to: to.slice(0, 40) },
    violations: [
      { subject: 'service', description: `${service ?? 'none'} → ${to.slice(0, 40)} is not a transition` },
    ],
  });
}
