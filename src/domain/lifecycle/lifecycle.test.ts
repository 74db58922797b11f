import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fault } from '../error/fault.ts';
import {
  ACTIVE_STATUSES,
  isActive,
  operationLifecycle,
  PHASE_OF_STATUS,
} from '../operation/operation-status.ts';
import { checkTransition, type Lifecycle, nextStates, statesOf } from './lifecycle.ts';
import { LIFECYCLES } from './lifecycles.ts';

type AnyLifecycle = Lifecycle<string, string>;

const ownersOf = (lifecycle: AnyLifecycle) => [...new Set(lifecycle.transitions.flatMap((t) => t.owners))];

/** Null when the transition is allowed. */
function refusal(lifecycle: AnyLifecycle, from: string, to: string, owner: string): Fault | null {
  try {
    checkTransition(lifecycle, from, to, owner);
    return null;
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

function reachable(lifecycle: AnyLifecycle): Set<string> {
  const seen = new Set<string>([lifecycle.initial]);
  for (const state of seen) for (const next of nextStates(lifecycle, state)) seen.add(next);
  return seen;
}

it('lists every lifecycle once', () => {
  const names = LIFECYCLES.map(({ name }) => name);
  expect(names.toSorted()).toEqual(['install', 'operation', 'phase', 'presence', 'service', 'step']);
});

describe.each(LIFECYCLES.map((lifecycle) => [lifecycle.name, lifecycle] as const))(
  '%s',
  (_name, lifecycle) => {
    const states = statesOf(lifecycle);
    const owners = ownersOf(lifecycle);

    it('starts in one of its states', () => expect(states).toContain(lifecycle.initial));

    it('names only its own states, each pair of them once, and never a state with itself', () => {
      const pairs = lifecycle.transitions.map(({ from, to }) => `${from} → ${to}`);
      expect(pairs.filter((pair, index) => pairs.indexOf(pair) !== index)).toEqual([]);
      for (const { from, to } of lifecycle.transitions) {
        expect(states).toContain(from);
        expect(states).toContain(to);
        expect(from).not.toBe(to);
      }
    });

    it('has an owner and a condition for every transition', () => {
      for (const { owners: makers, when } of lifecycle.transitions) {
        expect(makers.length).toBeGreaterThan(0);
        expect(new Set(makers).size).toBe(makers.length);
        expect(when).not.toBe('');
      }
    });

    it('has a meaning for each state', () => {
      for (const info of Object.values(lifecycle.states)) expect(info.meaning).not.toBe('');
    });

    it('leaves a final state never, and every other state somehow', () => {
      for (const state of states) {
        expect(nextStates(lifecycle, state).length > 0, state).toBe(lifecycle.states[state]?.final !== true);
      }
    });

    it('reaches every state from its first', () => {
      expect(states.filter((state) => !reachable(lifecycle).has(state))).toEqual([]);
    });

    it('allows exactly what its table has', () => {
      const oneOf = (values: readonly string[]) => fc.constantFrom(...values, 'no-such-name');
      fc.assert(
        fc.property(oneOf(states), oneOf(states), oneOf(owners), (from, to, owner) => {
          const row = lifecycle.transitions.find((t) => t.from === from && t.to === to);
          const refused = refusal(lifecycle, from, to, owner);
          if (row?.owners.includes(owner)) return refused === null;
          return refused?.reason === (row ? 'WRONG_TRANSITION_OWNER' : 'ILLEGAL_TRANSITION');
        }),
      );
    });

    it('returns the row that allowed it', () => {
      for (const row of lifecycle.transitions) {
        for (const owner of row.owners) expect(checkTransition(lifecycle, row.from, row.to, owner)).toBe(row);
      }
    });
  },
);

describe('a refused transition', () => {
  it('names the states that can follow', () => {
    const fault = refusal(operationLifecycle, 'compensating', 'completed', 'engine');
    expect(fault).toMatchObject({
      kind: 'failed_precondition',
      reason: 'ILLEGAL_TRANSITION',
      message:
        "operation can't go from compensating to completed; from compensating it can go to cancelled, pending, failed_manual_intervention",
      metadata: { lifecycle: 'operation', from: 'compensating', to: 'completed' },
      violations: [{ subject: 'operation', description: 'compensating → completed is not a transition' }],
    });
  });

  it('names no state after a final one', () => {
    expect(refusal(operationLifecycle, 'completed', 'running', 'engine')?.message).toMatch(
      /it can go to nothing$/,
    );
  });

  it('names the owner of a transition that another one tries to make', () => {
    expect(refusal(operationLifecycle, 'failed_retryable', 'compensating', 'engine')).toMatchObject({
      kind: 'failed_precondition',
      reason: 'WRONG_TRANSITION_OWNER',
      message: 'operation failed_retryable → compensating belongs to operator, not to engine',
      metadata: { owner: 'engine' },
    });
  });
});

describe('the phase that the APIs show of an operation', () => {
  it('is PENDING or RUNNING exactly while the operation is active', () => {
    for (const status of statesOf(operationLifecycle)) {
      expect(isActive(status)).toBe(['PENDING', 'RUNNING'].includes(PHASE_OF_STATUS[status]));
    }
    expect(ACTIVE_STATUSES).toContain(operationLifecycle.initial);
  });

  it('is never left again by the engine once the operation has ended', () => {
    const back = operationLifecycle.transitions.filter(
      ({ from, to, owners }) =>
        !isActive(from) && isActive(to) && (owners as readonly string[]).includes('engine'),
    );
    expect(back).toEqual([]);
  });
});
