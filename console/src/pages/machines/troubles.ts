import {
  CONDITION_TYPES,
  type Conditions,
  type ConditionType,
} from '../../../../src/domain/condition/condition.ts';
import { conditionTone } from '../../../../src/domain/condition/condition-tone.ts';
import type { Tone } from '../../../../src/domain/tone.ts';

const BAD: readonly Tone[] = ['red', 'orange', 'yellow'];

export interface Trouble {
  readonly type: ConditionType;
  /** Reachable is trouble when it does not hold, and then this says so. */
  readonly text: string;
  readonly tone: Tone;
  readonly reason: string;
  readonly message: string;
}

/** The conditions that are bad as they are now, the worst first. */
export function troubles(conditions: Conditions): Trouble[] {
  const found = CONDITION_TYPES.flatMap((type) => {
    const condition = conditions[type];
    const tone = condition ? conditionTone(type, condition.status) : 'gray';
    if (!condition || !BAD.includes(tone)) return [];
    const { status, reason, message } = condition;
    return [{ type, text: status ? type : `not ${type}`, tone, reason, message }];
  });
  return found.toSorted((left, right) => BAD.indexOf(left.tone) - BAD.indexOf(right.tone));
}
