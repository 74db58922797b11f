import { describe, expect, it } from 'vitest';
import type { Conditions, ConditionType } from '../condition/condition.ts';
import { statesOf } from '../lifecycle/lifecycle.ts';
import { phaseLifecycle } from '../machine/phase.ts';
import { V1_PHASES, v1EffectiveState, v1Phase } from './v1-phase.ts';

const FLAGS = ['Retired', 'RMA', 'InCustomerCluster'] as const;

/**
 * What is shown for each stored phase, as "phase, effective state", by the flags that are true and by whether
 * something is under way. Written out, not computed: this is the precedence of docs/api-v1.md.
 */
const SHOWN: ReadonlyArray<
  readonly [
    flags: string,
    activity: 'idle' | 'busy',
    FACTORY_READY: string,
    READY: string,
    MAINTENANCE: string,
  ]
> = [
  ['', 'idle', 'FACTORY_READY FACTORY_READY', 'READY READY', 'MAINTENANCE MAINTENANCE'],
  [
    'InCustomerCluster',
    'idle',
    'FACTORY_READY IN_SERVICE',
    'IN_SERVICE IN_SERVICE',
    'MAINTENANCE MAINTENANCE',
  ],
  ['RMA', 'idle', 'RMA RMA', 'RMA RMA', 'RMA RMA'],
  ['RMA InCustomerCluster', 'idle', 'RMA RMA', 'RMA RMA', 'RMA RMA'],
  ['Retired', 'idle', 'RETIRED RETIRED', 'RETIRED RETIRED', 'RETIRED RETIRED'],
  ['Retired InCustomerCluster', 'idle', 'RETIRED RETIRED', 'RETIRED RETIRED', 'RETIRED RETIRED'],
  ['Retired RMA', 'idle', 'RETIRED RETIRED', 'RETIRED RETIRED', 'RETIRED RETIRED'],
  ['Retired RMA InCustomerCluster', 'idle', 'RETIRED RETIRED', 'RETIRED RETIRED', 'RETIRED RETIRED'],
  ['', 'busy', ...everywhere('PROVISIONING PROVISIONING')],
  ['InCustomerCluster', 'busy', ...everywhere('PROVISIONING PROVISIONING')],
  ['RMA', 'busy', ...everywhere('RMA PROVISIONING')],
  ['RMA InCustomerCluster', 'busy', ...everywhere('RMA PROVISIONING')],
  ['Retired', 'busy', ...everywhere('RETIRED PROVISIONING')],
  ['Retired InCustomerCluster', 'busy', ...everywhere('RETIRED PROVISIONING')],
  ['Retired RMA', 'busy', ...everywhere('RETIRED PROVISIONING')],
  ['Retired RMA InCustomerCluster', 'busy', ...everywhere('RETIRED PROVISIONING')],
];

function everywhere(shown: string): [string, string, string] {
  return [shown, shown, shown];
}

function condition(status: boolean): Conditions[ConditionType] & object {
  return { status, reason: '', message: '', lastTransition: '' };
}

/** What is not true is absent in one case and false in the other; everything else that could be true is. */
function conditionSets(flags: string): Conditions[] {
  const isTrue = (flag: string) => flags.split(' ').includes(flag);
  const absent = Object.fromEntries(FLAGS.filter(isTrue).map((flag) => [flag, condition(true)]));
  const denied = Object.fromEntries(FLAGS.map((flag) => [flag, condition(isTrue(flag))]));
  const others = ['Reachable', 'BMCReachable', 'Provisioned', 'Drained', 'Degraded', 'NeedsIntervention'];
  const noise = Object.fromEntries(
    [...others, 'OperationCanceled'].map((type) => [type, condition(true)] as const),
  );
  return [absent, denied, { ...noise, ...denied }];
}

describe('the v1 API shows', () => {
  it.each(SHOWN)('with [%s], %s', (flags, activity, ...expected) => {
    const activeOperationId = activity === 'busy' ? 'op-1' : null;
    for (const conditions of conditionSets(flags)) {
      const shown = statesOf(phaseLifecycle).map((phase) => {
        const machine = { phase, conditions, activeOperationId };
        return `${v1Phase(machine)} ${v1EffectiveState(machine)}`;
      });
      expect(shown).toEqual(expected);
    }
  });

  it('every combination, once each', () => {
    expect(statesOf(phaseLifecycle)).toEqual(['FACTORY_READY', 'READY', 'MAINTENANCE']);
    expect(new Set(SHOWN.map(([flags, activity]) => `${flags} ${activity}`)).size).toBe(2 ** 4);
  });

  it('every one of its phases somewhere', () => {
    const shown = SHOWN.flatMap(([, , ...cells]) => cells.flatMap((cell) => cell.split(' ')));
    expect(new Set(shown)).toEqual(new Set(V1_PHASES));
  });
});
