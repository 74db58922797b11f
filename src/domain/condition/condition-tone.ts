/** The colour of a condition's status: how severe it is, and so how high it is in a list. */

import type { Tone } from '../tone.ts';
import type { ConditionType } from './condition.ts';

const TONES = {
  Reachable: { true: 'green', false: 'orange' },
  BMCReachable: { true: 'green', false: 'orange' },
  Provisioned: { true: 'green', false: 'gray' },
  InCustomerCluster: { true: 'green', false: 'gray' },
  Drained: { true: 'yellow', false: 'gray' },
  Degraded: { true: 'orange', false: 'green' },
  NeedsIntervention: { true: 'orange', false: 'green' },
  OperationCanceled: { true: 'yellow', false: 'gray' },
  RMA: { true: 'red', false: 'gray' },
  Retired: { true: 'red', false: 'gray' },
} as const satisfies Record<ConditionType, Record<'true' | 'false', Tone>>;

/** From the most severe to the least. */
export const TONES_BY_WEIGHT = [
  'red',
  'orange',
  'yellow',
  'blue',
  'green',
  'gray',
] as const satisfies readonly Tone[];

/** Gray for conditions that this version does not know. */
export function conditionTone(type: string, status: boolean): Tone {
  const tones: Readonly<Record<string, Record<'true' | 'false', Tone>>> = TONES;
  return Object.hasOwn(tones, type) ? (tones[type]?.[`${status}`] ?? 'gray') : 'gray';
}
