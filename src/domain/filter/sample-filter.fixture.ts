/** Random filters, and random rows to try them on. */
import fc from 'fast-check';
import { COMPARATORS, type FilterNode, type Pattern, type Restriction } from './ast.ts';
import { type Attribute, type FilterSchema, fieldsOf } from './fields.ts';

export interface Sample {
  readonly name: string | null;
  readonly phase: string | null;
  readonly seenAt: Date | null;
  /** What PostgreSQL knows beyond the milliseconds of `seenAt`. */
  readonly microseconds: number;
  readonly attempts: number | null;
  readonly ready: boolean | null;
  readonly pools: readonly string[] | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly conditions: Readonly<Record<string, boolean>>;
}

const PHASES = ['FACTORY_READY', 'READY', 'Maintenance'] as const;
const CONDITIONS = ['Degraded', 'RMA'] as const;

const ATTRIBUTES = {
  name: { kind: 'string', get: (row) => row.name },
  phase: { kind: 'enum', values: PHASES, get: (row) => row.phase },
  'status.seen_at': { kind: 'timestamp', get: (row) => row.seenAt },
  attempts: { kind: 'integer', get: (row) => row.attempts },
  ready: { kind: 'boolean', get: (row) => row.ready },
  pools: { kind: 'stringList', get: (row) => row.pools },
  labels: { kind: 'map', get: (row) => row.labels },
  conditions: { kind: 'flags', keys: CONDITIONS, get: (row, key) => row.conditions[key] },
} as const satisfies Record<string, Attribute<Sample>>;

export type SampleAttributes = typeof ATTRIBUTES;

export const sampleSchema: FilterSchema<Sample> = fieldsOf<Sample, keyof SampleAttributes>(ATTRIBUTES);

// Few and short, so that a filter often finds something; odd, so that whatever needs escaping is among them.
const LETTERS = ['a', 'b', 'A', '*', '%', '_', '\\', '"', "'", ' ', '.', ':', '-', '\n', 'é', '\uffee', '😀'];
const text = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('', 'a', 'ab', 'b%', 'a_b', '\\', '*', 'a*b') },
  { weight: 1, arbitrary: fc.string({ unit: fc.constantFrom(...LETTERS), maxLength: 4 }) },
);
const labelKey = fc.constantFrom(
  'rack',
  'a b',
  'fake/step-ms',
  'x.y',
  '',
  '"',
  'constructor',
  '__proto__',
  'AND',
);
const millisecond = fc.integer({ min: -3, max: 3 }).map((step) => Date.UTC(2026, 0, 1) + step);

/** fromEntries, unlike an assignment, takes `__proto__` for a key like any other. */
const labels = fc
  .array(fc.tuple(labelKey, text), { maxLength: 4 })
  .map((entries): Record<string, string> => Object.fromEntries(entries));

export const sampleRow: fc.Arbitrary<Sample> = fc.record({
  name: fc.option(text),
  phase: fc.option(fc.constantFrom(...PHASES)),
  seenAt: fc.option(millisecond.map((at) => new Date(at))),
  microseconds: fc.constantFrom(0, 1, 999),
  attempts: fc.option(fc.integer({ min: -2, max: 2 })),
  ready: fc.option(fc.boolean()),
  pools: fc.option(fc.array(text, { maxLength: 3 })),
  labels,
  conditions: fc.dictionary(fc.constantFrom(...CONDITIONS), fc.boolean()),
});

const anything: Pattern = ['', ''];
const pattern = fc.oneof(
  text.map((only): Pattern => [only]),
  fc.tuple(text, text).map((pieces): Pattern => pieces),
  fc.tuple(text, text, text).map((pieces): Pattern => pieces),
);
const equality = fc.constantFrom('=', '!=', ':');
const ordering = fc.constantFrom('<', '<=', '>', '>=');

/** Restrictions that the sample's schema accepts. */
export const sampleRestriction: fc.Arbitrary<Restriction> = fc.oneof(
  restriction('name', equality, pattern),
  restriction('name', ordering, literal(text)),
  restriction('phase', equality, literal(fc.constantFrom('ready', 'READY', 'maintenance'))),
  restriction('phase', equality, fc.constantFrom<Pattern>(['', 'ready'], anything)),
  restriction(
    'status.seen_at',
    fc.constantFrom(...COMPARATORS),
    literal(millisecond.map((at) => new Date(at).toISOString())),
  ),
  restriction(
    'attempts',
    fc.constantFrom(...COMPARATORS),
    literal(fc.integer({ min: -3, max: 3 }).map(String)),
  ),
  restriction('ready', equality, literal(fc.constantFrom('true', 'false'))),
  restriction(
    fc.constantFrom('name', 'status.seen_at', 'attempts', 'ready').map((name) => name.split('.')),
    equality,
    fc.constant(anything),
  ),
  restriction('pools', fc.constant(':'), fc.oneof(pattern, fc.constant(anything))),
  restriction('labels', fc.constant(':'), fc.oneof(literal(labelKey), fc.constant(anything))),
  restriction(
    labelKey.map((key) => ['labels', key]),
    equality,
    fc.oneof(pattern, fc.constant(anything)),
  ),
  restriction(
    labelKey.map((key) => ['labels', key]),
    ordering,
    literal(text),
  ),
  restriction(
    fc.constantFrom(...CONDITIONS).map((key) => ['conditions', key]),
    equality,
    fc.oneof(literal(fc.constantFrom('true', 'false')), fc.constant(anything)),
  ),
);

/** Restrictions that parse, whatever their fields. */
export const anyRestriction: fc.Arbitrary<Restriction> = restriction(
  fc.array(fc.oneof(text, labelKey, fc.string({ unit: 'binary' })).filter(isStorable), {
    minLength: 1,
    maxLength: 3,
  }),
  fc.constantFrom(...COMPARATORS),
  fc.oneof(pattern, literal(fc.constantFrom('OR', 'NOT', '::1', '10.0.0.1:22'))),
);

function restriction(
  path: string | fc.Arbitrary<string[]>,
  comparator: fc.Arbitrary<string>,
  value: fc.Arbitrary<Pattern>,
): fc.Arbitrary<Restriction> {
  return fc.record({
    kind: fc.constant('restriction'),
    path: typeof path === 'string' ? fc.constant(path.split('.')) : path,
    comparator: comparator as fc.Arbitrary<Restriction['comparator']>,
    value,
    offset: fc.constant(0),
  });
}

function literal(values: fc.Arbitrary<string>): fc.Arbitrary<Pattern> {
  return values.map((value): Pattern => [value]);
}

function isStorable(candidate: string): boolean {
  return !/[\0\p{Surrogate}]/u.test(candidate);
}

export function filterOf(restrictions: fc.Arbitrary<Restriction>): fc.Arbitrary<FilterNode> {
  return fc.letrec<{ node: FilterNode }>((tie) => {
    const terms = fc.array(tie('node'), { minLength: 2, maxLength: 3 });
    return {
      node: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        restrictions,
        fc.record({ kind: fc.constant('and'), terms }),
        fc.record({ kind: fc.constant('or'), terms }),
        fc.record({ kind: fc.constant('not'), term: tie('node') }),
      ),
    };
  }).node;
}
