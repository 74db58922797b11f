/** The rules by which a step of a rollout starts on one machine: the very rules of its verb, wherever it is called. */
import type { Scope } from '../../domain/access/scope.ts';
import type { Overwrite } from '../../domain/install/erasure.ts';
import type { StepDefaults } from '../../domain/operation/plan.ts';
import { durationText } from '../../domain/rollout/spec/duration-text.ts';
import type { RolloutStep } from '../../domain/rollout/spec/rollout-spec.ts';
import type { RunType } from '../../domain/v1/run-type.ts';
import type { DecommissionMode } from '../../domain/workflow/stage.ts';
import { eraseRules } from '../start/erase-machine.ts';
import type { StartRules } from '../start/start-on-machine.ts';
import { operationRules } from '../start/start-operation.ts';
import { runRules } from '../start/start-run.ts';
import { DRAIN, decommission, onboarding, REMOVAL, workflowRules } from '../start/workflows.ts';

export interface StepRulesContext {
  readonly stepDefaults: StepDefaults;
  readonly scope: Scope | null;
}

/** Null: the step observes, and starts nothing. */
export function rulesOfStep(step: RolloutStep, { stepDefaults, scope }: StepRulesContext): StartRules | null {
  switch (step.verb) {
    case 'enter-maintenance':
      return operationRules({ type: 'ENTER_MAINTENANCE', params: orderParams(step) });
    case 'exit-maintenance':
      return operationRules({ type: 'EXIT_MAINTENANCE', params: {} });
    case 'reboot':
      return operationRules({ type: 'REBOOT', params: {} });
    case 'reimage':
      return operationRules({ type: 'REIMAGE', params: imageParams(step.imageRef) });
    case 'plan':
      return runRules(stepDefaults, { type: step.type as RunType, planId: step.planId });
    case 'onboard':
      return workflowRules({ scope }, onboarding(step.pool));
    case 'decommission':
      return workflowRules({ scope }, decommission(step.mode as DecommissionMode));
    case 'drain':
      return workflowRules({ scope }, DRAIN);
    case 'remove':
      return workflowRules({ scope }, REMOVAL);
    case 'erase':
      return eraseRules({ scope, overwrite: step.overwrite as Overwrite });
    case 'verify':
      return null;
  }
}

function orderParams({
  durationMs,
  reason,
  exitWhenOver,
}: Extract<RolloutStep, { verb: 'enter-maintenance' }>): Readonly<Record<string, string>> {
  return {
    ...(durationMs !== null && { duration: durationText(durationMs) }),
    ...(reason !== '' && { reason }),
    ...(exitWhenOver && { exit_when_over: 'true' }),
  };
}

function imageParams(imageRef: string): Readonly<Record<string, string>> {
  return imageRef === '' ? {} : { image_ref: imageRef };
}
