import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sampleMachine } from '../machine/machine.fixture.ts';
import type { Machine } from '../machine/machine.ts';
import { applyChange, type MachineChange, mergeChanges } from '../machine/machine-change.ts';
import { CONDITION_TYPES, type ConditionChange } from './condition.ts';
import {
  type ClusterNode,
  drainedCondition,
  isDrained,
  type NodeObservation,
  nodeConditions,
} from './node-observation.ts';

const cause = {
  at: new Date('2026-01-02T00:00:00Z'),
  actor: { kind: 'system', id: 'test' },
  operationId: null,
} as const;

const anyNode: fc.Arbitrary<ClusterNode | null> = fc.option(
  fc
    .record({
      state: fc.constantFrom('ready', 'not ready', 'lost'),
      takesWork: fc.boolean(),
      count: fc.option(fc.nat(3)),
    })
    .map(({ state, takesWork, count }) => ({
      ready: state === 'ready',
      lost: state === 'lost',
      why: '',
      takesWork,
      kubeletVersion: 'v1.31.2',
      workloads: count === null ? null : { count, ending: 0 },
    })),
);
const anyObservation: fc.Arbitrary<NodeObservation> = anyNode.map((node) => ({
  cluster: 'cluster-a',
  name: 'm-1',
  node,
}));
const anyPhase = fc.constantFrom('FACTORY_READY', 'READY', 'MAINTENANCE');

/** Whatever anyone may write: what was seen, and single conditions with any reason. */
const anyChange: fc.Arbitrary<MachineChange> = fc.oneof(
  fc
    .tuple(anyPhase, anyObservation)
    .map(([phase, observation]) => ({ conditions: nodeConditions(phase, observation) })),
  fc
    .record({
      type: fc.constantFrom(...CONDITION_TYPES, 'Drained' as const, 'InCustomerCluster' as const),
      status: fc.boolean(),
      reason: fc.constantFrom('NodeReady', 'NodeCordoned', 'NodeDrained', 'OutOfCluster', 'Other'),
      message: fc.constant(''),
    })
    .map((condition): MachineChange => ({ conditions: [condition as ConditionChange] })),
);

const takesWork = ({ conditions }: Machine) =>
  conditions.InCustomerCluster?.status === true && conditions.InCustomerCluster.reason !== 'NodeCordoned';

describe('Drained', () => {
  it('is never true together with InCustomerCluster and a node that takes work', () => {
    fc.assert(
      fc.property(fc.array(anyChange, { maxLength: 12 }), (changes) => {
        let machine = sampleMachine();
        for (const change of changes) {
          ({ machine } = applyChange(machine, change, cause));
          expect(takesWork(machine) && machine.conditions.Drained?.status === true).toBe(false);
        }
        const merged = changes.reduce(mergeChanges, {});
        const { machine: atOnce } = applyChange(sampleMachine(), merged, cause);
        expect(takesWork(atOnce) && atOnce.conditions.Drained?.status === true).toBe(false);
      }),
    );
  });

  it('is true only where the last observation that decided it had a node without work, or none in maintenance', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyPhase, anyObservation), { maxLength: 12 }), (observations) => {
        let machine = sampleMachine();
        let last: (typeof observations)[number] | null = null;
        for (const [phase, observation] of observations) {
          ({ machine } = applyChange(machine, { conditions: nodeConditions(phase, observation) }, cause));
          if (drainedCondition(phase, observation) !== null) last = [phase, observation];
          if (machine.conditions.Drained?.status !== true) continue;
          const [seenIn, { node }] = last ?? ['READY', { node: null }];
          expect(node === null ? seenIn === 'MAINTENANCE' : isDrained(node)).toBe(true);
        }
      }),
    );
  });

  it('turns false, with an event, when a machine that was drained out of its cluster is verified in it', () => {
    const drained = { type: 'Drained', status: true, reason: 'OutOfCluster', message: '' } as const;
    const joined = {
      type: 'InCustomerCluster',
      status: true,
      reason: 'NodeReady',
      message: 'Ready in a',
    } as const;
    const before = applyChange(sampleMachine(), { conditions: [drained] }, cause).machine;
    const { machine, events } = applyChange(before, { conditions: [joined] }, cause);
    expect(machine.conditions.Drained).toMatchObject({ status: false, reason: 'NodeTakesWork' });
    expect(events.map(({ subject, from, to }) => [subject, from, to])).toEqual([
      ['InCustomerCluster', '', 'true'],
      ['Drained', 'true', 'false'],
    ]);
  });
});
