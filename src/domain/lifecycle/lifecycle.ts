/**
 * A lifecycle is a table: its states, the transitions between them, and who may make each. The rules are stated here only.
 * checkTransition is the one check of a transition; the diagrams in docs/, the SQL check constraints, the enabled buttons
 * and the tests of illegal transitions are derived from the table.
 */
import { Fault } from '../error/fault.ts';

export interface StateInfo {
  readonly meaning: string;
  /** Nothing leaves a final state. */
  readonly final?: true;
}

export interface Transition<S extends string, O extends string> {
  readonly from: S;
  readonly to: S;
  readonly owners: readonly O[];
  readonly when: string;
}

export interface Lifecycle<S extends string, O extends string> {
  readonly name: string;
  readonly question: string;
  readonly initial: S;
  readonly states: Readonly<Record<S, StateInfo>>;
  readonly transitions: readonly Transition<S, O>[];
}

export function statesOf<S extends string, O extends string>(lifecycle: Lifecycle<S, O>): S[] {
  return Object.keys(lifecycle.states) as S[];
}

export function nextStates<S extends string, O extends string>(lifecycle: Lifecycle<S, O>, from: S): S[] {
  return lifecycle.transitions.filter((t) => t.from === from).map((t) => t.to);
}

/** Returns the transition when the table allows it to this owner; otherwise throws a Fault with the reason. */
export function checkTransition<S extends string, O extends string>(
  lifecycle: Lifecycle<S, O>,
  from: S,
  to: S,
  owner: O,
): Transition<S, O> {
  const transition = lifecycle.transitions.find((t) => t.from === from && t.to === to);
  if (!transition) {
    const valid = nextStates(lifecycle, from);
    throw new Fault('ILLEGAL_TRANSITION', {
      message: `${lifecycle.name} can't go from ${from} to ${to}; from ${from} it can go to ${valid.join(', ') || 'nothing'}`,
      metadata: { lifecycle: lifecycle.name, from, to },
      violations: [{ subject: lifecycle.name, description: `${from} → ${to} is not a transition` }],
    });
  }
  if (!transition.owners.includes(owner)) {
    throw new Fault('WRONG_TRANSITION_OWNER', {
      message: `${lifecycle.name} ${from} → ${to} belongs to ${transition.owners.join(' or ')}, not to ${owner}`,
      metadata: { lifecycle: lifecycle.name, from, to, owner },
      violations: [{ subject: lifecycle.name, description: `${from} → ${to} is not made by ${owner}` }],
    });
  }
  return transition;
}
