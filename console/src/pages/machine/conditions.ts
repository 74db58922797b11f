/** A machine's conditions, the most important first, including those that were never checked. */
import { CONDITION_TYPES, CONDITIONS, isConditionType } from '../../../../src/domain/condition/condition.ts';
import { conditionTone, TONES_BY_WEIGHT } from '../../../../src/domain/condition/condition-tone.ts';
import type { Tone } from '../../../../src/domain/tone.ts';

export interface ReportedCondition {
  readonly type: string;
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
  /** When the status last changed, in milliseconds; null: not known. */
  readonly since: number | null;
}

export interface ConditionRow {
  readonly type: string;
  readonly meaning: string;
  readonly status: 'true' | 'false' | 'unknown';
  readonly tone: Tone;
  readonly reason: string;
  readonly message: string;
  readonly since: number | null;
}

const WEIGHT: readonly Tone[] = TONES_BY_WEIGHT;

export function conditionRows(reported: readonly ReportedCondition[]): ConditionRow[] {
  const known = reported
    .map(
      ({ status, ...rest }): ConditionRow => ({
        ...rest,
        meaning: isConditionType(rest.type) ? CONDITIONS[rest.type] : '',
        status: status ? 'true' : 'false',
        tone: conditionTone(rest.type, status),
      }),
    )
    .toSorted(
      (left, right) =>
        WEIGHT.indexOf(left.tone) - WEIGHT.indexOf(right.tone) || (right.since ?? 0) - (left.since ?? 0),
    );
  const unknown = CONDITION_TYPES.filter(
    (type) => !reported.some((condition) => condition.type === type),
  ).map(
    (type): ConditionRow => ({
      type,
      meaning: CONDITIONS[type],
      status: 'unknown',
      tone: 'gray',
      reason: '',
      message: '',
      since: null,
    }),
  );
  return [...known, ...unknown];
}
