import {
  CONDITION_TYPES,
  type Conditions,
  type ConditionType,
} from '../../../../src/domain/condition/condition.ts';
import { conditionTone } from '../../../../src/domain/condition/condition-tone.ts';
import type { Tone } from '../../../../src/domain/tone.ts';

/** The worst first. */
const UNHEALTHY_TONES: readonly Tone[] = ['red', 'orange', 'yellow'];

export interface UnhealthyCondition {
  readonly type: ConditionType;
  /** The type, with `not` where its absence is unhealthy, as for Reachable. */
  readonly text: string;
  readonly tone: Tone;
  readonly reason: string;
  readonly message: string;
}

/** The conditions that are unhealthy now, the worst first. */
export function unhealthyConditions(conditions: Conditions): UnhealthyCondition[] {
  const found = CONDITION_TYPES.flatMap((type) => {
    const condition = conditions[type];
    const tone = condition ? conditionTone(type, condition.status) : 'gray';
    if (!condition || !UNHEALTHY_TONES.includes(tone)) return [];
    const { status, reason, message } = condition;
    return [{ type, text: status ? type : `not ${type}`, tone, reason, message }];
  });
  return found.toSorted(
    (left, right) => UNHEALTHY_TONES.indexOf(left.tone) - UNHEALTHY_TONES.indexOf(right.tone),
  );
}
