/**
 * Starts a run of the v1 API: a plan applied to a machine, as an operation like any other (docs/api-v1.md). The order of the
 * checks is part of the API: replay, machine, plan, flags, provider, capabilities, what the steps need, active operation.
 * There is no gate by phase.
 */
import { isTrue } from '../../domain/condition/condition.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { Operation } from '../../domain/operation/operation.ts';
import { DEFAULT_PLANS, type Plan, type StepDefaults } from '../../domain/operation/plan.ts';
import type { StepDefinition } from '../../domain/operation/step.ts';
import { RUN_TYPES, type RunType } from '../../domain/v1/run-type.ts';
import type { Provider } from '../../providers/provider.ts';
import { checkCapabilities, completeStep, defineStep } from '../../steps/registry.ts';
import { builtInPlan, planNotFound } from '../plans/plans.ts';
import { withRequiredVerification } from './required-verification.ts';
import {
  type MachineCall,
  type StartDependencies,
  type StartRules,
  startOnMachine,
} from './start-on-machine.ts';

export interface StartRunDependencies extends StartDependencies {
  readonly stepDefaults: StepDefaults;
}

export interface StartRunCall extends MachineCall {
  readonly type: RunType;
  /** Empty: the default plan of the type. */
  readonly planId: string;
}

export function startRun(dependencies: StartRunDependencies, call: StartRunCall): Promise<Operation> {
  return startOnMachine(dependencies, call, runRules(dependencies.stepDefaults, call));
}

export function runRules(
  stepDefaults: StepDefaults,
  { type: runType, planId: asked }: Pick<StartRunCall, 'type' | 'planId'>,
): StartRules {
  const planId = asked === '' ? DEFAULT_PLANS[runType].planId : asked;
  const builtIn = builtInPlan(planId);
  return {
    fingerprint: ['run', runType, asked],
    storedPlanId: builtIn ? null : planId,
    decide: ({ machine, plan: stored, provider, checkSteps }) => {
      const plan = builtIn ?? stored;
      if (!plan) throw planNotFound(planId);
      checkRunFlags(machine, runType);
      const type = RUN_TYPES[runType].operationType;
      const planned = stepsOf(plan, machine, provider(), stepDefaults);
      const steps = type === 'REIMAGE' ? withRequiredVerification(machine, planned) : planned;
      checkSteps(steps);
      return { type, planId, completionPolicy: 'run', params: paramsOf(steps), steps };
    },
  };
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
  // The network serves the image that the plan writes, unless a netboot step names another one.
  return completed.map((step) =>
    step.kind === 'netboot' && step.config.image === ''
      ? { ...step, config: { ...step.config, image } }
      : step,
  );
}

/** What the operation shows for auditing. */
function paramsOf(steps: readonly StepDefinition[]): Record<string, string> {
  const image = steps.find((step) => step.kind === 'repave')?.config.image;
  const cluster = steps.find((step) => step.kind === 'join')?.config.cluster_ref;
  return {
    ...(typeof image === 'string' && { image_ref: image }),
    ...(typeof cluster === 'string' && { cluster_ref: cluster }),
  };
}

/** A retired machine takes no runs, and one in RMA only RMA runs. */
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
