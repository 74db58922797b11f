/** The condition that makes a machine ATTENTION or BLOCKED. Where it has several, the one that is hardest to undo. */
import { type Condition, type Conditions, type ConditionType, isTrue } from './condition.ts';

export const ATTENTION_TYPES = [
  'Retired',
  'RMA',
  'NeedsIntervention',
] as const satisfies readonly ConditionType[];

export type AttentionType = (typeof ATTENTION_TYPES)[number];

export function attentionType(conditions: Conditions): AttentionType | null {
  return ATTENTION_TYPES.find((type) => isTrue(conditions, type)) ?? null;
}

export function attentionCondition(conditions: Conditions): Condition | null {
  const type = attentionType(conditions);
  return type === null ? null : (conditions[type] ?? null);
}
