/** Checks the steps of a rollout: exactly one verb each, its parameters, and that each can follow the one before. */
import { inAnyCase } from '../../any-case.ts';
import { CONDITION_TYPES } from '../../condition/condition.ts';
import { Fault, invalidField, missingField } from '../../error/fault.ts';
import { checkFilter } from '../../filter/check.ts';
import { MACHINE_FILTER } from '../../filter/machine-filter.ts';
import { parseFilter } from '../../filter/parse.ts';
import { OVERWRITES } from '../../install/erasure.ts';
import { checkText, IMAGE_RULE } from '../../machine/machine-input.ts';
import { DEFAULT_PLANS, PLAN_ID_PROBLEM, PLAN_ID_RULE } from '../../operation/plan.ts';
import { RUN_TYPE_NAMES, type RunType } from '../../v1/run-type.ts';
import { DECOMMISSION_MODE_NAMES } from '../../workflow/stage.ts';
import { chainProblem, type RolloutVerb, VERBS_IN_CHAIN } from '../chain.ts';
import { readDuration } from './duration-text.ts';
import type { RolloutStep } from './rollout-spec.ts';
import type { WrittenStep, WrittenVerify } from './written-spec.ts';

const MAX_STEPS = 20;
const VERIFY_TIMEOUT_MS = 30 * 60_000;
const CONDITION_HOLDS = /^conditions\.(\w+)=true$/;

const VERB_NAMES = Object.keys(VERBS_IN_CHAIN) as RolloutVerb[];

export function checkSteps(written: readonly WrittenStep[], field: string): RolloutStep[] {
  if (written.length === 0) throw missingField(field);
  if (written.length > MAX_STEPS) throw invalidField(field, `must be at most ${MAX_STEPS}`);
  const steps = written.map((step, index) => checkStep(step, `${field}[${index}]`));
  const problem = chainProblem(steps);
  if (problem) throw invalidField(`${field}[${problem.step}].${steps[problem.step]?.verb}`, problem.problem);
  return steps;
}

function checkStep({ step }: WrittenStep, field: string): RolloutStep {
  switch (step.case) {
    case 'enterMaintenance': {
      const { duration, reason, exitWhenOver } = step.value;
      const at = `${field}.enter-maintenance`;
      const durationMs = duration === '' ? null : positive(duration, `${at}.duration`);
      if (exitWhenOver && durationMs === null)
        throw invalidField(`${at}.exit_when_over`, 'needs a duration that can be over');
      return {
        verb: 'enter-maintenance',
        durationMs,
        reason: checkText(reason, `${at}.reason`, 1000),
        exitWhenOver,
      };
    }
    case 'reimage':
      return { verb: 'reimage', imageRef: checkImage(step.value.imageRef, `${field}.reimage.image_ref`) };
    case 'verify':
      return checkVerify(step.value, `${field}.verify`);
    case 'plan':
      return { verb: 'plan', ...checkPlanStep(step.value, `${field}.plan`) };
    case 'onboard':
      if (step.value.pool === '') throw missingField(`${field}.onboard.pool`);
      return { verb: 'onboard', pool: step.value.pool };
    case 'decommission':
      return {
        verb: 'decommission',
        mode: oneOf(DECOMMISSION_MODE_NAMES, step.value.mode, `${field}.decommission.mode`),
      };
    case 'erase': {
      const { overwrite } = step.value;
      return {
        verb: 'erase',
        overwrite: overwrite === '' ? 'ends' : oneOf(OVERWRITES, overwrite, `${field}.erase.overwrite`),
      };
    }
    case 'exitMaintenance':
      return { verb: 'exit-maintenance' };
    case 'reboot':
    case 'drain':
    case 'remove':
      return { verb: step.case };
    case undefined:
      throw invalidField(field, `needs exactly one of ${VERB_NAMES.join(', ')}`);
  }
}

function checkImage(image: string, field: string): string {
  if (image === '' || IMAGE_RULE.test(image)) return image;
  throw invalidField(field, 'must be at most 255 letters, digits, ".", "_", ":", "/", "@" or "-"');
}

function checkVerify(written: WrittenVerify, field: string): RolloutStep {
  const { condition, filter } = written;
  if (condition === '' && filter === '') throw missingField(`${field}.condition`);
  if (condition !== '' && filter !== '')
    throw invalidField(`${field}.filter`, 'can not be used together with condition');
  const asked =
    condition === ''
      ? checkMachineFilter(filter, `${field}.filter`)
      : `conditions.${oneOf(CONDITION_TYPES, condition, `${field}.condition`)}=true`;
  const forMs = written.for === '' ? 0 : readDuration(written.for, `${field}.for`);
  const timeoutMs =
    written.timeout === ''
      ? Math.max(VERIFY_TIMEOUT_MS, 2 * forMs)
      : positive(written.timeout, `${field}.timeout`);
  if (timeoutMs < forMs) throw invalidField(`${field}.timeout`, 'must not be shorter than for');
  return { verb: 'verify', filter: asked, forMs, timeoutMs };
}

/** The condition that a step to verify asks for; empty where it asks for a filter. */
export function verifiedCondition(filter: string): string {
  return CONDITION_HOLDS.exec(filter)?.[1] ?? '';
}

function checkPlanStep(
  { planId, type }: { readonly planId: string; readonly type: string },
  field: string,
): { readonly planId: string; readonly type: RunType } {
  if (planId !== '' && !PLAN_ID_RULE.test(planId)) throw invalidField(`${field}.plan_id`, PLAN_ID_PROBLEM);
  // A default plan is that of one type.
  const own = RUN_TYPE_NAMES.find((name) => DEFAULT_PLANS[name].planId === planId);
  if (type === '' && own) return { planId, type: own };
  if (type === '') throw missingField(planId === '' ? `${field}.plan_id` : `${field}.type`);
  const asked = oneOf(RUN_TYPE_NAMES, type, `${field}.type`);
  return { planId: planId === '' ? DEFAULT_PLANS[asked].planId : planId, type: asked };
}

function oneOf<Name extends string>(names: readonly Name[], text: string, field: string): Name {
  if (text === '') throw missingField(field);
  const name = inAnyCase(names, text);
  if (name) return name;
  throw invalidField(field, `must be one of ${names.join(', ')}`);
}

function positive(text: string, field: string): number {
  const ms = readDuration(text, field);
  if (ms === 0) throw invalidField(field, 'must be more than 0');
  return ms;
}

const MAX_FILTER = 10_000;

/** The filter as it was written, once it is known to parse. */
export function checkMachineFilter(text: string, field: string): string {
  return checkFilterText(text, field, () => checkFilter(parseFilter(text), MACHINE_FILTER));
}

function checkFilterText(text: string, field: string, check: () => unknown): string {
  if (text.length > MAX_FILTER) throw invalidField(field, `must be at most ${MAX_FILTER} characters`);
  try {
    check();
    return text.trim();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const description = error.violations[0]?.description ?? error.message;
    throw new Fault('INVALID_FILTER', {
      message: `${field}: ${description}`,
      metadata: { ...error.metadata, field },
      violations: [{ subject: field, description }],
    });
  }
}
