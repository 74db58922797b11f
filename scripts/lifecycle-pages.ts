/** The pages of the lifecycles, from their tables: states, transitions, who may make each, and a diagram. */
import { CONDITION_TYPES, CONDITIONS, type ConditionType } from '../src/domain/condition/condition.ts';
import { type Lifecycle, statesOf } from '../src/domain/lifecycle/lifecycle.ts';
import { LIFECYCLES } from '../src/domain/lifecycle/lifecycles.ts';
import {
  EFFECTIVE_STATES,
  type EffectiveState,
  type EffectiveStateInput,
  effectiveState,
} from '../src/domain/machine/effective-state.ts';
import { phaseLifecycle } from '../src/domain/machine/phase.ts';
import { PHASE_GATED_TYPES } from '../src/domain/operation/phase-gated-type.ts';
import { code, page, table } from './markdown.ts';

type AnyLifecycle = Lifecycle<string, string>;

const FOLDER = 'docs/lifecycles';
const NOTE = `<!-- Written by scripts/pages.ts from the tables in src/domain. Change those, not this page. -->`;

/** Path to page text. */
export function lifecyclePages(): Map<string, string> {
  const pages = LIFECYCLES.map(
    (lifecycle) => [`${FOLDER}/${lifecycle.name}.md`, lifecyclePage(lifecycle)] as const,
  );
  return new Map([[`${FOLDER}/README.md`, indexPage()], ...pages]);
}

function lifecyclePage(lifecycle: AnyLifecycle): string {
  return page([
    `# ${titleOf(lifecycle)}`,
    NOTE,
    lifecycle.question,
    '## States',
    table(
      ['state', 'meaning'],
      statesOf(lifecycle).map((state) => [code(state), meaningOf(lifecycle, state)]),
    ),
    diagram(lifecycle),
    '## Transitions',
    'No other transition is possible, and only the actors that are named can make it.',
    table(
      ['from', 'to', 'made by', 'when'],
      lifecycle.transitions.map(({ from, to, owners, when }) => [
        code(from),
        code(to),
        owners.join(', '),
        when,
      ]),
    ),
  ]);
}

function indexPage(): string {
  return page([
    '# Lifecycles',
    NOTE,
    'Each layer of the state of a machine, and each operation and its steps, is a lifecycle of its own: a table of states and of the transitions between them, with who may make each. The effective state is computed from them on read and is stored nowhere.',
    table(
      ['lifecycle', 'question', 'starts as', 'states'],
      LIFECYCLES.map((lifecycle) => [
        `[${lifecycle.name}](${lifecycle.name}.md)`,
        lifecycle.question,
        code(lifecycle.initial),
        statesOf(lifecycle).map(code).join(', '),
      ]),
    ),
    '## Effective state',
    'The first row that applies, from the top:',
    table(
      ['when', 'effective state', 'meaning', 'colour', 'what to do'],
      precedence().map(({ cause, state }) => {
        const { meaning, colour, userAction } = EFFECTIVE_STATES[state];
        return [cause, code(state), meaning, colour, userAction];
      }),
    ),
    '## Conditions',
    'Signals beside the lifecycles, each with a reason and the time at which it last changed. One that is absent is not known yet.',
    table(
      ['condition', 'what it says when it is true'],
      CONDITION_TYPES.map((type) => [code(type), CONDITIONS[type]]),
    ),
    '## What may be done in which phase',
    table(
      ['operation', 'what it does', 'destroys data', ...statesOf(phaseLifecycle).map(code)],
      Object.entries(PHASE_GATED_TYPES).map(([type, { description, destructive, phases }]) => [
        code(type),
        description,
        destructive ? 'yes' : 'no',
        ...statesOf(phaseLifecycle).map((phase) =>
          (phases as readonly string[]).includes(phase) ? 'yes' : '–',
        ),
      ]),
    ),
  ]);
}

function titleOf({ name }: AnyLifecycle): string {
  return `Lifecycle: ${name}`;
}

function meaningOf(lifecycle: AnyLifecycle, state: string): string {
  const { meaning, final } = lifecycle.states[state] ?? { meaning: '' };
  const notes = [state === lifecycle.initial ? 'first' : '', final ? 'final' : ''].filter(
    (note) => note !== '',
  );
  return notes.length === 0 ? meaning : `${meaning} (${notes.join(', ')})`;
}

/** Labels are owners only: what is written under "when" has characters that a diagram's label can't have. */
function diagram(lifecycle: AnyLifecycle): string {
  const finals = statesOf(lifecycle).filter((state) => lifecycle.states[state]?.final);
  return [
    '```mermaid',
    'stateDiagram-v2',
    `  [*] --> ${lifecycle.initial}`,
    ...lifecycle.transitions.map(({ from, to, owners }) => `  ${from} --> ${to}: ${owners.join(' or ')}`),
    ...finals.map((state) => `  ${state} --> [*]`),
    '```',
  ].join('\n');
}

interface Cause {
  readonly cause: string;
  readonly input: Partial<EffectiveStateInput>;
}

/** What decides the effective state, strongest first; found by asking the function, one cause against another. */
function precedence(): { readonly cause: string; readonly state: EffectiveState }[] {
  const raised = (type: ConditionType) => ({
    [type]: { status: true, reason: '', message: '', lastTransition: '' },
  });
  const conditions: Cause[] = CONDITION_TYPES.map((type) => ({
    cause: `condition ${code(type)} is true`,
    input: { conditions: raised(type) },
  }));
  const busy: Cause = { cause: 'an operation is active', input: { activeOperationId: 'op' } };
  const phases: Cause[] = statesOf(phaseLifecycle).map((phase) => ({
    cause: `phase ${code(phase)}`,
    input: { phase },
  }));
  const signals = [...conditions, busy].filter(({ input }) => stateOf(input) !== stateOf({}));
  const weaker = (one: Cause) =>
    signals.filter((other) => stateOf(one.input, other.input) === stateOf(one.input));
  const ordered = signals.toSorted((one, other) => weaker(other).length - weaker(one).length);
  return [...ordered, ...phases].map(({ cause, input }) => ({ cause, state: stateOf(input) }));
}

function stateOf(...inputs: Partial<EffectiveStateInput>[]): EffectiveState {
  const conditions = Object.assign({}, ...inputs.map((input) => input.conditions));
  return effectiveState(
    Object.assign({ phase: 'READY', activeOperationId: null }, ...inputs, { conditions }),
  );
}
