import { invalidField, missingField } from '../../../domain/error/fault.ts';
import { PLAN_ID_PROBLEM, PLAN_ID_RULE } from '../../../domain/operation/plan.ts';
import { RUN_TYPE_NAMES, type RunType } from '../../../domain/v1/run-type.ts';

export function checkPlanId(planId: string): string {
  if (PLAN_ID_RULE.test(planId)) return planId;
  throw invalidField('plan_id', PLAN_ID_PROBLEM);
}

export function checkRunType(type: string): RunType {
  if (type === '') throw missingField('type');
  const known = RUN_TYPE_NAMES.find((name) => name === type);
  if (known) return known;
  throw invalidField('type', `must be one of ${RUN_TYPE_NAMES.join(', ')}`);
}
