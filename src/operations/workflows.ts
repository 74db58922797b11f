/** Document 3's workflows: onboarding, decommission, drain and removal, and the service states that people set. */
import { type Actor, actorLabel } from '../domain/actor.ts';
import type { ContractName } from '../domain/contract.ts';
import { Fault, invalidField, missingField } from '../domain/fault.ts';
import { nextStates } from '../domain/lifecycle.ts';
import type { Machine } from '../domain/machine.ts';
import { applyChange, type MachineChange } from '../domain/machine-change.ts';
import type { Operation } from '../domain/operation.ts';
import { type ServiceOwner, type ServiceState, serviceLifecycle } from '../domain/service-state.ts';
import {
  DECOMMISSION_MODES,
  type DecommissionMode,
  DRAIN_STAGES,
  ONBOARDING,
  REMOVE_STAGES,
  STAGES,
  type StageName,
} from '../domain/stage.ts';
import type { StepDefinition } from '../domain/step.ts';
import type { WorkflowType } from '../domain/work-type.ts';
import { checkCapabilities, defineStep } from '../steps/registry.ts';
import type { Database } from '../store/database.ts';
import { changeMachine } from '../store/machines.ts';
import { poolExists } from '../store/pools.ts';
import { activeFault } from '../store/start-operations.ts';
import { checkFlags, machineNotFound, providerOf, type StartTools } from './start-operation.ts';

export interface WorkflowTools extends StartTools {
  readonly database: Database;
}

export interface WorkflowCall {
  readonly machineId: string;
  readonly requestId: string;
  readonly actor: Actor;
}

interface Workflow {
  readonly type: WorkflowType;
  readonly contract: ContractName;
  readonly params: Readonly<Record<string, string>>;
  readonly stages: readonly StageName[];
  readonly config: Readonly<Record<string, unknown>>;
  /** The service states that it may begin in, and what beginning does. */
  readonly begins: Partial<Record<ServiceState | 'none', MachineChange>>;
}

const NOTHING: MachineChange = {};
const DISABLES: MachineChange = { service: { to: 'draining', owner: 'admin' } };

export async function onboardMachine(
  tools: WorkflowTools,
  call: WorkflowCall & { readonly pool: string },
): Promise<Operation> {
  const { pool } = call;
  if (pool === '') throw missingField('pool');
  if (!(await poolExists(tools.database, pool))) throw invalidField('pool', `there is no pool ${pool}`);
  const enrols = { service: { to: 'enrolling', owner: 'admin' } } as const;
  // The identity is used again: offline, until its health proves that it is active.
  const reuses = { service: { to: 'offline', owner: 'admin', comment: 'onboarded again' } } as const;
  return start(tools, call, {
    type: 'ONBOARD',
    contract: 'onboarding',
    params: { pool },
    stages: ONBOARDING,
    config: { pool },
    begins: {
      none: enrols,
      bootstrap_issued: enrols,
      enrolling: NOTHING,
      retired: reuses,
      offline: NOTHING,
    },
  });
}

export async function decommissionMachine(
  tools: WorkflowTools,
  call: WorkflowCall & { readonly mode: DecommissionMode },
): Promise<Operation> {
  const { mode } = call;
  const full: Workflow['begins'] = mode === 'full_decommission' ? { retired: NOTHING } : {};
  return start(tools, call, {
    type: 'DECOMMISSION',
    contract: 'decommission',
    params: { mode },
    stages: DECOMMISSION_MODES[mode].stages,
    config: { erase: mode === 'reimage' || mode === 'full_decommission' },
    begins: { active: DISABLES, offline: DISABLES, quarantined: DISABLES, draining: NOTHING, ...full },
  });
}

export async function drainMachine(tools: WorkflowTools, call: WorkflowCall): Promise<Operation> {
  return start(tools, call, {
    type: 'DRAIN',
    contract: 'decommission',
    params: {},
    stages: DRAIN_STAGES,
    config: {},
    begins: { active: DISABLES, offline: DISABLES, quarantined: DISABLES, draining: NOTHING },
  });
}

export async function removeMachine(tools: WorkflowTools, call: WorkflowCall): Promise<Operation> {
  return start(tools, call, {
    type: 'REMOVE',
    contract: 'removal',
    params: {},
    stages: REMOVE_STAGES,
    config: {},
    begins: { retired: { service: { to: 'removing', owner: 'removal' } }, removing: NOTHING },
  });
}

async function start(tools: WorkflowTools, call: WorkflowCall, workflow: Workflow): Promise<Operation> {
  const { machineId, requestId, actor } = call;
  const { type, contract, params } = workflow;
  const started = await tools.starter.start({
    machineId,
    requestId,
    fingerprint: JSON.stringify([type, Object.entries(params).sort()]),
    actor,
    startedBy: actorLabel(actor),
    decide: (machine) => {
      if (!machine) throw machineNotFound(machineId);
      const steps = stepsOf(workflow);
      if (type === 'ONBOARD') checkFlags(machine);
      checkCapabilities(steps, providerOf(machine, tools.providers));
      // The state that it begins in, and the operation that owns it, come into being together.
      const change = workflow.begins[machine.service ?? 'none'];
      if (!change) throw wrongService(machine, workflow);
      return {
        operationId: tools.newOperationId(),
        type,
        planId: '',
        contract,
        params,
        steps,
        change,
      };
    },
  });
  if (!started.replayed) tools.poke();
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

function wrongService({ machineId, service }: Machine, { type, begins }: Workflow): Fault {
  const states = Object.keys(begins).map((state) => (state === 'none' ? 'in no service yet' : state));
  return new Fault('failed_precondition', {
    reason: 'WRONG_SERVICE_STATE',
    message: `${machineId} is ${service ?? 'in no service'}; ${type} needs ${states.join(', ')}`,
    metadata: { machine_id: machineId, service: service ?? '', type },
    violations: [{ subject: `machines/${machineId}`, description: `service is ${service ?? 'none'}` }],
  });
}

/** Who a person may be in the table: he who operates, and he who administers. */
const PERSON: readonly ServiceOwner[] = ['operator', 'admin'];

export interface SetServiceCall {
  readonly machineId: string;
  readonly to: string;
  readonly reason: string;
  readonly actor: Actor;
}

/** States that an operation must own can't be entered by hand. */
const OWNED: ReadonlySet<string> = new Set(['draining', 'removing', 'enrolling']);

export async function setServiceState(database: Database, call: SetServiceCall): Promise<Machine> {
  const { machineId, reason, actor } = call;
  const machine = await changeMachine(database, machineId, (before) => {
    const to = checkService(before, call.to);
    if (before.activeOperationId !== null) throw activeFault(machineId, before.activeOperationId);
    const transition = serviceLifecycle.transitions.find(
      (known) => known.from === before.service && known.to === to,
    );
    const owner = PERSON.find((person) =>
      (transition?.owners as readonly ServiceOwner[] | undefined)?.includes(person),
    );
    const change = { service: { to, owner: owner ?? 'operator', comment: reason } } as const;
    return applyChange(before, change, { at: new Date(), actor, operationId: null });
  });
  if (!machine) throw machineNotFound(machineId);
  return machine;
}

function checkService({ service }: Machine, to: string): ServiceState {
  const next = service === null ? [] : nextStates(serviceLifecycle, service);
  const known = next.find((state) => state === to);
  if (known && !OWNED.has(known)) return known;
  const valid = next.filter((state) => !OWNED.has(state)).join(', ') || 'nothing';
  throw new Fault('failed_precondition', {
    reason: 'ILLEGAL_TRANSITION',
    message: `service can’t be set from ${service ?? 'none'} to ${to.slice(0, 40)} by hand; it can be set to ${valid}`,
    metadata: { from: service ?? '', to: to.slice(0, 40) },
    violations: [
      { subject: 'service', description: `${service ?? 'none'} → ${to.slice(0, 40)} is not a transition` },
    ],
  });
}
