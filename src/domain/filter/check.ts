import type { Fault } from '../error/fault.ts';
import { probablyMeant } from '../nearest.ts';
import type { Comparator, FilterNode, Pattern, Restriction } from './ast.ts';
import type { CheckedFilter, FieldTest, Order, TextTest } from './checked-filter.ts';
import type { EnumField, FilterSchema, FlagsField, MapField, WholeField } from './fields.ts';
import { invalidFilter, quoted } from './invalid-filter.ts';
import { readBoolean, readInteger, readTimestamp } from './literal.ts';
import { fitsPattern, isAnything } from './pattern.ts';

/**
 * Checks a parsed filter against the fields of a schema. The fault for an unknown field, comparator or value names the
 * known ones.
 *
 * `:` means that a string, or the value of a map's key, contains the value, that a list has it as a member, or that a map has
 * it as a key; for any other field it is `=`. A lone `*` matches every value that is present.
 */
export function checkFilter<Row>(node: FilterNode, schema: FilterSchema<Row>): CheckedFilter<Row> {
  switch (node.kind) {
    case 'and':
    case 'or':
      return { kind: node.kind, terms: node.terms.map((term) => checkFilter(term, schema)) };
    case 'not':
      return { kind: 'not', term: checkFilter(node.term, schema) };
    case 'restriction':
      return checkRestriction(node, schema);
  }
}

const EQUALITY = ['=', '!=', ':'] as const;
const ORDERING = ['=', '!=', '<', '<=', '>', '>=', ':'] as const;

/** Which comparators a field takes, by its kind. `entry` is the value of a map's key, `flag` that of a key of flags. */
export const COMPARATORS_OF = {
  string: ORDERING,
  enum: EQUALITY,
  timestamp: ORDERING,
  integer: ORDERING,
  boolean: EQUALITY,
  stringList: [':'],
  map: [':'],
  reference: EQUALITY,
  entry: ORDERING,
  flag: EQUALITY,
} as const satisfies Record<WholeField<unknown>['kind'] | 'entry' | 'flag', readonly Comparator[]>;

function checkRestriction<Row>(restriction: Restriction, schema: FilterSchema<Row>): CheckedFilter<Row> {
  const target = resolve(restriction, schema);
  const kind = target.kind === 'field' ? target.field.kind : target.kind;
  checkComparator(restriction, COMPARATORS_OF[kind]);
  if (target.kind === 'field' && target.field.kind === 'string' && asksEmpty(restriction)) {
    const filled = { kind: 'filled', field: target.field } as const;
    return restriction.comparator === '!=' ? filled : { kind: 'not', term: filled };
  }
  const asksPresence =
    kind !== 'reference' && isEquality(restriction.comparator) && isAnything(restriction.value);
  const test = asksPresence ? presenceTest(target) : valueTest(restriction, target);
  return restriction.comparator === '!=' ? { kind: 'not', term: test } : test;
}

/** What a path names: a field, or a key of a map or of flags. */
type Target<Row> =
  | { readonly kind: 'field'; readonly field: WholeField<Row> }
  | { readonly kind: 'entry'; readonly field: MapField<Row>; readonly key: string }
  | { readonly kind: 'flag'; readonly field: FlagsField<Row>; readonly key: string };

/** Names of fields have few dots and label keys may have many, so only the start of a path is looked up as a field. */
const SEGMENTS_OF_A_FIELD = 4;

function resolve<Row>(restriction: Restriction, schema: FilterSchema<Row>): Target<Row> {
  const { path } = restriction;
  for (let count = Math.min(path.length, SEGMENTS_OF_A_FIELD); count > 0; count -= 1) {
    const name = path.slice(0, count).join('.');
    const field = Object.hasOwn(schema, name) ? schema[name] : undefined;
    if (field === undefined) continue;
    const key = count === path.length ? undefined : path.slice(count).join('.');
    if (field.kind === 'flags') {
      if (key !== undefined) return { kind: 'flag', field, key: declaredKey(restriction, field, key) };
    } else if (key === undefined) {
      return { kind: 'field', field };
    } else if (field.kind === 'map') {
      return { kind: 'entry', field, key };
    }
  }
  throw invalidFilter({
    problem: `unknown field ${quoted(path.join('.'))}`,
    offset: restriction.offset,
    meant: probablyMeant(path.join('.'), fieldNames(schema, path.slice(1).join('.') || '<key>')),
    expected: `one of ${fieldNames(schema).join(', ')}`,
  });
}

/** Those of maps with this key. */
function fieldNames<Row>(schema: FilterSchema<Row>, key = '<key>'): string[] {
  return Object.entries(schema).flatMap(([name, field]) => {
    if (field.kind === 'map') return [`${name}.${key}`];
    if (field.kind === 'flags') return field.keys.map((key) => `${name}.${key}`);
    return [name];
  });
}

function declaredKey<Row>(restriction: Restriction, field: FlagsField<Row>, key: string): string {
  const found = field.keys.find((candidate) => candidate.toLowerCase() === key.toLowerCase());
  if (found !== undefined) return found;
  throw invalidFilter({
    problem: `unknown key ${quoted(key)}`,
    offset: restriction.offset,
    meant: probablyMeant(key, field.keys),
    expected: `one of ${field.keys.join(', ')}`,
  });
}

function checkComparator(restriction: Restriction, allowed: readonly Comparator[]): void {
  if (allowed.includes(restriction.comparator)) return;
  throw invalidFilter({
    problem: `${quoted(restriction.path.join('.'))} can't be compared with '${restriction.comparator}'`,
    offset: restriction.offset,
    expected: allowed.length > 1 ? `one of ${allowed.join(' ')}` : `'${allowed.join()}'`,
  });
}

function presenceTest<Row>(target: Target<Row>): FieldTest<Row> {
  switch (target.kind) {
    case 'field':
      return { kind: 'present', field: target.field };
    case 'entry':
      return { kind: 'entryPresent', field: target.field, key: target.key };
    case 'flag':
      return { kind: 'flagPresent', field: target.field, key: target.key };
  }
}

function valueTest<Row>(restriction: Restriction, target: Target<Row>): FieldTest<Row> {
  switch (target.kind) {
    case 'field':
      return fieldTest(restriction, target.field);
    case 'entry':
      return { ...target, test: textTest(restriction, containing(restriction)) };
    case 'flag':
      return { ...target, value: literal(restriction, readBoolean, 'true or false') };
  }
}

function fieldTest<Row>(restriction: Restriction, field: WholeField<Row>): FieldTest<Row> {
  const { comparator, value } = restriction;
  const order = orderOf(comparator);
  switch (field.kind) {
    case 'string': {
      const [start, ...rest] = value;
      const stored: Pattern = [field.stored?.(start) ?? start, ...rest];
      return {
        kind: 'string',
        field,
        test: textTest(restriction, containing({ comparator, value: stored })),
      };
    }
    case 'enum':
      return { kind: 'enum', field, oneOf: enumValues(restriction, field) };
    case 'timestamp': {
      const at = literal(restriction, readTimestamp, 'a time such as 2026-01-31T12:00:00Z');
      return { kind: 'timestamp', field, order, at };
    }
    case 'integer':
      return { kind: 'integer', field, order, value: literal(restriction, readInteger, 'an integer') };
    case 'boolean':
      return { kind: 'boolean', field, value: literal(restriction, readBoolean, 'true or false') };
    case 'stringList':
      return { kind: 'member', field, test: textTest(restriction, value) };
    case 'reference':
      return {
        kind: 'reference',
        field,
        id: literal(restriction, (text) => text, 'an id without wildcards'),
      };
    case 'map': {
      const key = literal(restriction, (text) => text, 'a key without wildcards');
      return { kind: 'entryPresent', field, key };
    }
  }
}

/** `:` matches the value anywhere in a text. */
function containing({ comparator, value }: Pick<Restriction, 'comparator' | 'value'>): Pattern {
  return comparator === ':' ? ['', ...value, ''] : value;
}

function asksEmpty({ comparator, value }: Restriction): boolean {
  return (comparator === '=' || comparator === '!=') && value.length === 1 && value[0] === '';
}

function isEquality(comparator: Comparator): boolean {
  return comparator === '=' || comparator === '!=' || comparator === ':';
}

function orderOf(comparator: Comparator): Order {
  return comparator === '!=' || comparator === ':' ? '=' : comparator;
}

function textTest(restriction: Restriction, pattern: Pattern): TextTest {
  if (pattern.length > 1 && isEquality(restriction.comparator)) return { kind: 'fits', pattern };
  const text = literal({ ...restriction, value: pattern }, (value) => value, 'a value without wildcards');
  return { kind: 'compare', order: orderOf(restriction.comparator), text };
}

/** A wildcard becomes the list of the values that it matches. */
function enumValues<Row>(restriction: Restriction, field: EnumField<Row>): readonly string[] {
  const [first, ...rest] = restriction.value;
  const pattern: Pattern = [first.toLowerCase(), ...rest.map((piece) => piece.toLowerCase())];
  const values = field.values.filter((value) => fitsPattern(value.toLowerCase(), pattern));
  if (values.length === 0) {
    const meant = probablyMeant(restriction.value.join(''), field.values);
    throw unreadable(restriction, `one of ${field.values.join(', ')}`, meant);
  }
  return values;
}

function literal<Value>(
  restriction: Restriction,
  read: (text: string) => Value | undefined,
  expected: string,
): Value {
  const value = restriction.value.length === 1 ? read(restriction.value[0]) : undefined;
  if (value === undefined) throw unreadable(restriction, expected);
  return value;
}

function unreadable(restriction: Restriction, expected: string, meant: string | null = null): Fault {
  const name = restriction.path.join('.');
  return invalidFilter({
    problem: `${quoted(restriction.value.join('*'))} is no value for ${quoted(name)}`,
    offset: restriction.offset,
    meant,
    expected,
  });
}
