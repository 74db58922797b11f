/**
 * A checked filter as a condition for WHERE.
 *
 * SQL has three truth values and a filter has two. A test of an absent value is NULL here and false in memory. For WHERE, AND and
 * OR treat NULL like false; NOT does not, so it is written IS NOT TRUE. An absent value therefore counts as false everywhere, and
 * the tests need no COALESCE, with which no index could serve them.
 *
 * Everything that the caller of the API wrote is a parameter, keys of maps included.
 */
import type { Pattern } from '../../domain/filter/ast.ts';
import type { CheckedFilter, FieldTest, TextTest } from '../../domain/filter/checked-filter.ts';
import type { WholeField } from '../../domain/filter/fields.ts';
import { type AnyFilterColumns, columnOf, equalityOf, flagColumnOf } from './filter-columns.ts';

export interface SqlCondition {
  /** For WHERE, alone or joined to others by AND and OR. Must not be negated: it may be NULL for false. */
  readonly text: string;
  readonly values: readonly SqlValue[];
}

export type SqlValue = string | number | readonly string[];

/** Parameters are numbered from `firstParameter` on. */
export function filterToSql<Row>(
  filter: CheckedFilter<Row>,
  columns: AnyFilterColumns,
  firstParameter: number,
): SqlCondition {
  const values: SqlValue[] = [];
  const bind: Bind = (value, type) => {
    values.push(value);
    return `$${firstParameter + values.length - 1}::${type}`;
  };
  return { text: conditionOf(filter, { columns, bind }), values };
}

type TestOf<Row, Kind extends FieldTest<Row>['kind']> = Extract<FieldTest<Row>, { readonly kind: Kind }>;

type Bind = (value: SqlValue, type: 'text' | 'text[]' | 'bigint' | 'timestamptz' | 'jsonb') => string;

interface Statement {
  readonly columns: AnyFilterColumns;
  readonly bind: Bind;
}

function conditionOf<Row>(filter: CheckedFilter<Row>, statement: Statement): string {
  switch (filter.kind) {
    case 'and':
      return joined(filter.terms, { operator: 'AND', whenEmpty: 'TRUE', statement });
    case 'or':
      return joined(filter.terms, { operator: 'OR', whenEmpty: 'FALSE', statement });
    case 'not':
      return `(${conditionOf(filter.term, statement)} IS NOT TRUE)`;
    default:
      return `(${testOf(filter, statement)})`;
  }
}

interface Joining {
  readonly operator: 'AND' | 'OR';
  readonly whenEmpty: string;
  readonly statement: Statement;
}

function joined<Row>(
  terms: readonly CheckedFilter<Row>[],
  { operator, whenEmpty, statement }: Joining,
): string {
  if (terms.length === 0) return whenEmpty;
  return `(${terms.map((term) => conditionOf(term, statement)).join(` ${operator} `)})`;
}

function testOf<Row>(test: FieldTest<Row>, { columns, bind }: Statement): string {
  const { attribute } = test.field;
  if (test.kind === 'flagPresent') return `(${flagColumnOf(columns, attribute, test.key)}) IS NOT NULL`;
  if (test.kind === 'flag') return truth(`(${flagColumnOf(columns, attribute, test.key)})`, test.value);
  if (test.kind === 'reference') return flagColumnOf(columns, attribute, bind(test.id, 'text'));
  const column = `(${columnOf(columns, attribute)})`;
  switch (test.kind) {
    case 'present':
      return presence(test.field, column);
    case 'filled':
      // Not IS NOT NULL: an index of the values that are not null serves this.
      return `${column} <> ''`;
    case 'string': {
      const equal = equalityOf(columns, attribute);
      return equal !== null && isEqual(test.test)
        ? equal(bind(test.test.text, 'text'))
        : text(column, test.test, bind);
    }
    case 'enum':
      return membership(column, test.oneOf, bind);
    case 'timestamp':
      return timestamp(column, test, bind);
    case 'integer':
      return `${column} ${test.order} ${bind(test.value, 'bigint')}`;
    case 'boolean':
      return truth(column, test.value);
    case 'member':
      return member(column, test.test, bind);
    case 'entryPresent':
      return `${column} ? ${bind(test.key, 'text')}`;
    case 'entry':
      return entry(column, test, bind);
  }
}

function presence<Row>({ kind }: WholeField<Row>, column: string): string {
  switch (kind) {
    case 'stringList':
      return `cardinality${column} > 0`;
    case 'map':
      return `${column} <> '{}'::jsonb`;
    case 'string':
    case 'enum':
    case 'timestamp':
    case 'integer':
    case 'boolean':
    case 'reference':
      return `${column} IS NOT NULL`;
  }
}

type Comparison = Extract<TextTest, { readonly kind: 'compare' }>;

function isEqual(test: TextTest): test is Comparison {
  return test.kind === 'compare' && test.order === '=';
}

function text(column: string, test: TextTest, bind: Bind): string {
  switch (test.kind) {
    case 'fits':
      return `${column} LIKE ${bind(toLikePattern(test.pattern), 'text')}`;
    case 'compare':
      // Equality is the same in every collation that a database may have, and order is not.
      return test.order === '='
        ? `${column} = ${bind(test.text, 'text')}`
        : `${column} COLLATE "C" ${test.order} ${bind(test.text, 'text')}`;
  }
}

function membership(column: string, oneOf: readonly string[], bind: Bind): string {
  const [only, ...others] = oneOf;
  return only !== undefined && others.length === 0
    ? `${column} = ${bind(only, 'text')}`
    : `${column} = ANY(${bind(oneOf, 'text[]')})`;
}

/** Compares by the millisecond with the bare column, so that an index serves it. */
function timestamp<Row>(column: string, { order, at }: TestOf<Row, 'timestamp'>, bind: Bind): string {
  const from = (milliseconds: number) => bind(new Date(milliseconds).toISOString(), 'timestamptz');
  switch (order) {
    case '=':
      return `${column} >= ${from(at)} AND ${column} < ${from(at + 1)}`;
    case '<':
      return `${column} < ${from(at)}`;
    case '<=':
      return `${column} < ${from(at + 1)}`;
    case '>':
      return `${column} >= ${from(at + 1)}`;
    case '>=':
      return `${column} >= ${from(at)}`;
  }
}

function truth(column: string, value: boolean): string {
  return value ? column : `${column} IS FALSE`;
}

function member(column: string, test: TextTest, bind: Bind): string {
  return isEqual(test)
    ? `${column} @> ${bind([test.text], 'text[]')}`
    : `EXISTS (SELECT FROM unnest(${column}) AS member WHERE ${text('member', test, bind)})`;
}

/** Equality is written as containment, which an index of jsonb_path_ops serves. */
function entry<Row>(column: string, { key, test }: TestOf<Row, 'entry'>, bind: Bind): string {
  if (isEqual(test)) {
    return `${column} @> ${bind(JSON.stringify({ [key]: test.text }), 'jsonb')}`;
  }
  return text(`(${column} ->> ${bind(key, 'text')})`, test, bind);
}

/** For LIKE with its default escape, the backslash. */
function toLikePattern(pattern: Pattern): string {
  return pattern.map((piece) => piece.replace(/[\\%_]/g, '\\$&')).join('%');
}
