/**
 * Starts a run of document 1: a plan applied to a machine, as an operation like any other. The order of the
 * checks is part of the API: replay, machine, plan, flags, capabilities, what the steps need, active operation. There is no gate by
 * phase here.
 */
import { type Actor, actorLabel } from '../../domain/actor.ts';
import { isTrue } from '../../domain/condition/condition.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { Operation } from '../../domain/operation/operation.ts';
import { DEFAULT_PLANS, type Plan, type StepDefaults } from '../../domain/operation/plan.ts';
import type { StepDefinition } from '../../domain/operation/step.ts';
import { RUN_TYPES, type RunType } from '../../domain/v1/run-type.ts';
import type { Provider } from '../../providers/provider.ts';
import { checkCapabilities, completeStep, defineStep } from '../../steps/registry.ts';
import { checkStart } from '../../steps/start-checks.ts';
import { builtInPlan, planNotFound } from '../plans/plans.ts';
import { machineNotFound, providerOf, readsInstalls, type StartDependencies } from './start-operation.ts';

export interface StartRunDependencies extends StartDependencies {
  readonly stepDefaults: StepDefaults;
}

export interface StartRunCall {
  readonly type: RunType;
  readonly machineId: string;
  readonly requestId: string;
  /** Empty: the default plan of the type. */
  readonly planId: string;
  readonly actor: Actor;
}

export async function startRun(dependencies: StartRunDependencies, call: StartRunCall): Promise<Operation> {
  const planId = call.planId === '' ? DEFAULT_PLANS[call.type].planId : call.planId;
  const builtIn = builtInPlan(planId);
  const started = await dependencies.starter.start({
    machineId: call.machineId,
    requestId: call.requestId,
    fingerprint: JSON.stringify(['run', call.type, call.planId]),
    actor: call.actor,
    startedBy: actorLabel(call.actor),
    planId: builtIn ? null : planId,
    readsInstalls: readsInstalls(dependencies.providers),
    decide: (machine, stored, facts) => {
      if (!machine) throw machineNotFound(call.machineId);
      const plan = builtIn ?? stored;
      if (!plan) throw planNotFound(planId);
      checkRunFlags(machine, call.type);
      const provider = providerOf(machine, dependencies.providers);
      const steps = stepsOf(plan, machine, provider, dependencies.stepDefaults);
      checkStart(steps, machine, provider, facts);
      return {
        operationId: dependencies.newOperationId(),
        type: RUN_TYPES[call.type].operationType,
        planId,
        completionPolicy: 'run',
        params: paramsOf(steps),
        steps,
      };
    },
  });
  if (!started.replayed) dependencies.wake();
  return started.operation;
}

function stepsOf(plan: Plan, machine: Machine, provider: Provider, defaults: StepDefaults): StepDefinition[] {
  const defined = plan.steps.map((step) =>
    defineStep({
      ...step,
      timeoutSeconds: step.timeoutSeconds ?? defaults.timeoutSeconds,
      maxRetries: step.maxRetries ?? defaults.maxRetries,
    }),
  );
  checkCapabilities(defined, provider);
  const completed = defined.map((step) => completeStep(step, machine, provider));
  const image = completed.find((step) => step.kind === 'repave')?.config.image ?? '';
  // What the network serves is what the plan will write, unless it says otherwise.
  return completed.map((step) =>
    step.kind === 'netboot' && step.config.image === ''
      ? { ...step, config: { ...step.config, image } }
      : step,
  );
}

/** What document 2's view keeps for auditing. */
function paramsOf(steps: readonly StepDefinition[]): Record<string, string> {
  const image = steps.find((step) => step.kind === 'repave')?.config.image;
  const cluster = steps.find((step) => step.kind === 'join')?.config.cluster_ref;
  return {
    ...(typeof image === 'string' && { image_ref: image }),
    ...(typeof cluster === 'string' && { cluster_ref: cluster }),
  };
}

/** Nothing runs on a retired machine, and only RMA runs on one in RMA. */
export function checkRunFlags(machine: Machine, type: string): void {
  const flag = isTrue(machine.conditions, 'Retired')
    ? 'Retired'
    : isTrue(machine.conditions, 'RMA')
      ? 'RMA'
      : null;
  if (flag === null || (flag === 'RMA' && type === 'RMA')) return;
  throw new Fault('MACHINE_BLOCKED', {
    message: `${machine.machineId} is flagged ${flag} and takes no ${type} runs`,
    metadata: { machine_id: machine.machineId, flag },
    violations: [{ subject: `machines/${machine.machineId}`, description: `is flagged ${flag}` }],
  });
}
