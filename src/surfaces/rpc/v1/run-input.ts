import { invalidField, missingField } from '../../../domain/fault.ts';
import { RUN_TYPE_NAMES, type RunType } from '../../../domain/work-type.ts';

const PLAN_ID = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126})$/;

export function checkPlanId(planId: string): string {
  if (PLAN_ID.test(planId)) return planId;
  throw invalidField('plan_id', 'must be 1 to 127 letters, digits, ".", "_" or "-"');
}

export function checkRunType(type: string): RunType {
  if (type === '') throw missingField('type');
  const known = RUN_TYPE_NAMES.find((name) => name === type);
  if (known) return known;
  throw invalidField('type', `must be one of ${RUN_TYPE_NAMES.join(', ')}`);
}
