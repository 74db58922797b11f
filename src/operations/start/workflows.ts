/** Starts the workflows: onboarding, decommission, drain and removal (docs/maas.md). */
import { machineOutOfScope } from '../../domain/access/scope.ts';
import type { ActorKind } from '../../domain/actor.ts';
import { Fault, invalidField, missingField } from '../../domain/error/fault.ts';
import type { Machine } from '../../domain/machine/machine.ts';
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
import { type WorkflowKind, workflowStarts } from '../../domain/workflow/workflow-gate.ts';
import { defineStep } from '../../steps/registry.ts';
import { poolExists } from '../../store/agents/pools.ts';
import type { Database } from '../../store/database/database.ts';
import { findMachine, findMachines } from '../../store/machines/machines.ts';
import { lastServiceChange } from '../../store/machines/service-machines.ts';
import { findOperation } from '../../store/operations/find-operations.ts';
import { withRequiredVerification } from './required-verification.ts';
import { checkFlags } from './start-gates.ts';
import {
  fingerprintOf,
  type MachineCall,
  type StartDependencies,
  type StartRules,
  startOnMachine,
} from './start-on-machine.ts';

export interface WorkflowDependencies extends StartDependencies {
  readonly database: Database;
}

export interface Workflow {
  readonly type: WorkflowType;
  readonly completionPolicy: CompletionPolicyName;
  readonly params: Readonly<Record<string, string>>;
  readonly stages: readonly StageName[];
  readonly config: Readonly<Record<string, unknown>>;
  readonly kind: WorkflowKind;
}

export async function onboardMachine(
  dependencies: WorkflowDependencies,
  call: MachineCall & { readonly pool: string },
): Promise<Operation> {
  const { pool } = call;
  if (pool === '') throw missingField('pool');
  if (!(await poolExists(dependencies.database, pool, call.scope))) throw noPool(pool);
  await checkQuarantine(dependencies.database, call);
  return start(dependencies, call, onboarding(pool));
}

export function onboarding(pool: string): Workflow {
  return {
    type: 'ONBOARD',
    completionPolicy: 'onboarding',
    params: { pool },
    stages: ONBOARDING,
    config: { pool },
    kind: 'ONBOARD',
  };
}

/** A machine that a person quarantined is under investigation: deploying it again would destroy the evidence. */
async function checkQuarantine(database: Database, { machineId, scope }: MachineCall): Promise<void> {
  const [machine] = await findMachines(database, [machineId], scope);
  const fault = machine ? await quarantineFault(database, machine) : null;
  if (fault) throw fault;
}

export async function quarantineFault(
  database: Database,
  { machineId, service }: Pick<Machine, 'machineId' | 'service'>,
): Promise<Fault | null> {
  if (service !== 'quarantined') return null;
  const mover = await lastServiceChange(database, machineId);
  if (mover === null || !PEOPLE.includes(mover.actorKind)) return null;
  return new Fault('QUARANTINED_BY_PERSON', {
    message: `${mover.actorKind}:${mover.actorId} quarantined ${machineId} (${mover.comment}), and only a person lets it go: set it active, or drain it and onboard it from retired`,
    metadata: { machine_id: machineId, actor: `${mover.actorKind}:${mover.actorId}` },
    violations: [{ subject: `machines/${machineId}`, description: 'a person quarantined it' }],
  });
}

const PEOPLE: readonly ActorKind[] = ['admin', 'operator'];

export async function decommissionMachine(
  dependencies: WorkflowDependencies,
  call: MachineCall & { readonly mode: DecommissionMode },
): Promise<Operation> {
  return start(dependencies, call, decommission(call.mode));
}

export function decommission(mode: DecommissionMode): Workflow {
  return {
    type: 'DECOMMISSION',
    completionPolicy: 'decommission',
    params: { mode },
    stages: DECOMMISSION_MODES[mode].stages,
    config: { erase: mode === 'reimage' || mode === 'full_decommission' },
    kind: mode,
  };
}

export async function drainMachine(
  dependencies: WorkflowDependencies,
  call: MachineCall,
): Promise<Operation> {
  return startOrJoin(dependencies, call, DRAIN);
}

export const DRAIN: Workflow = {
  type: 'DRAIN',
  completionPolicy: 'decommission',
  params: {},
  stages: DRAIN_STAGES,
  config: {},
  kind: 'DRAIN',
};

export async function removeMachine(
  dependencies: WorkflowDependencies,
  call: MachineCall,
): Promise<Operation> {
  return startOrJoin(dependencies, call, REMOVAL);
}

export const REMOVAL: Workflow = {
  type: 'REMOVE',
  completionPolicy: 'removal',
  params: {},
  stages: REMOVE_STAGES,
  config: {},
  kind: 'REMOVE',
};

/** A drain or removal of a machine that an operation already drains or removes returns that operation. */
async function startOrJoin(
  dependencies: WorkflowDependencies,
  call: MachineCall,
  workflow: Workflow,
): Promise<Operation> {
  try {
    return await start(dependencies, call, workflow);
  } catch (error) {
    if (!(error instanceof Fault && error.reason === 'OPERATION_ACTIVE')) throw error;
    const { database } = dependencies;
    const operation = await findOperation(database, error.metadata.operation_id ?? '', call.scope);
    const machine = await findMachine(database, call.machineId);
    const isOwned = machine?.service === (workflow.kind === 'DRAIN' ? 'draining' : 'removing');
    if (!operation || !isOwned || operation.cancelRequested) throw error;
    return operation;
  }
}

function noPool(pool: string): Fault {
  return invalidField('pool', `there is no pool ${JSON.stringify(pool.slice(0, 80))}`);
}

function start(
  dependencies: WorkflowDependencies,
  call: MachineCall,
  workflow: Workflow,
): Promise<Operation> {
  return startOnMachine(dependencies, call, workflowRules(call, workflow));
}

export function workflowRules({ scope }: Pick<MachineCall, 'scope'>, workflow: Workflow): StartRules {
  const { type, completionPolicy, params } = workflow;
  return {
    fingerprint: fingerprintOf(type, params),
    decide: ({ machine, checkSteps }) => {
      const stages = stepsOf(workflow);
      const steps = type === 'ONBOARD' ? withRequiredVerification(machine, stages) : stages;
      if (type === 'ONBOARD') checkFlags(machine);
      if (scope !== null && !scope.contains({ ...machine, pool: params.pool ?? machine.pool }))
        throw machineOutOfScope(machine.machineId, scope);
      checkSteps(steps);
      // The first service state and the operation that owns it are written together.
      const change = workflowStarts(workflow.kind)[machine.service ?? 'none'];
      if (!change) throw wrongService(machine, workflow);
      return { type, planId: '', completionPolicy, params, steps, change };
    },
  };
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
  const states = Object.keys(workflowStarts(kind)).map((state) =>
    state === 'none' ? 'in no service yet' : state,
  );
  return new Fault('WRONG_SERVICE_STATE', {
    message: `${machineId} is ${service ?? 'in no service'}; ${type} needs ${states.join(', ')}`,
    metadata: { machine_id: machineId, service: service ?? '', type },
    violations: [{ subject: `machines/${machineId}`, description: `service is ${service ?? 'none'}` }],
  });
}
