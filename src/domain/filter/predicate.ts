import type { CheckedFilter, FieldTest, Order, TextTest } from './checked-filter.ts';
import type { WholeField } from './fields.ts';
import { fitsPattern } from './pattern.ts';

export type Predicate<Row> = (row: Row) => boolean;

/** The same test as filterToSql, for a row in memory. Build it once and use it for many rows. */
export function filterPredicate<Row>(filter: CheckedFilter<Row>): Predicate<Row> {
  switch (filter.kind) {
    case 'and': {
      const terms = filter.terms.map((term) => filterPredicate(term));
      return (row) => {
        for (const term of terms) if (!term(row)) return false;
        return true;
      };
    }
    case 'or': {
      const terms = filter.terms.map((term) => filterPredicate(term));
      return (row) => {
        for (const term of terms) if (term(row)) return true;
        return false;
      };
    }
    case 'not': {
      const term = filterPredicate(filter.term);
      return (row) => !term(row);
    }
    default:
      return testPredicate(filter);
  }
}

function testPredicate<Row>(test: FieldTest<Row>): Predicate<Row> {
  switch (test.kind) {
    case 'present':
      return presence(test.field);
    case 'filled':
      return (row) => (test.field.get(row) ?? '') !== '';
    case 'string': {
      const holds = textPredicate(test.test);
      return (row) => {
        const text = test.field.get(row);
        return text != null && holds(text);
      };
    }
    case 'enum':
      return (row) => {
        const value = test.field.get(row);
        return value != null && test.oneOf.includes(value);
      };
    case 'timestamp': {
      const holds = ORDERS[test.order];
      return (row) => {
        const at = test.field.get(row);
        return at != null && holds(at.getTime(), test.at);
      };
    }
    case 'integer': {
      const holds = ORDERS[test.order];
      return (row) => {
        const value = test.field.get(row);
        return value != null && holds(value, test.value);
      };
    }
    case 'boolean':
      return (row) => test.field.get(row) === test.value;
    case 'member': {
      const holds = textPredicate(test.test);
      return (row) => test.field.get(row)?.some(holds) ?? false;
    }
    case 'reference':
      return () => false;
    case 'entryPresent':
      return (row) => entry(test.field.get(row), test.key) !== undefined;
    case 'entry': {
      const holds = textPredicate(test.test);
      return (row) => {
        const text = entry(test.field.get(row), test.key);
        return text !== undefined && holds(text);
      };
    }
    case 'flagPresent':
      return (row) => test.field.get(row, test.key) != null;
    case 'flag':
      return (row) => test.field.get(row, test.key) === test.value;
  }
}

function presence<Row>(field: WholeField<Row>): Predicate<Row> {
  switch (field.kind) {
    case 'stringList':
      return (row) => (field.get(row)?.length ?? 0) > 0;
    case 'map':
      return (row) => Object.keys(field.get(row) ?? {}).length > 0;
    case 'string':
    case 'enum':
    case 'timestamp':
    case 'integer':
    case 'boolean':
      return (row) => field.get(row) != null;
    case 'reference':
      return () => false;
  }
}

/** Only own properties: a label may be called `constructor`, which every object inherits. */
function entry(map: Readonly<Record<string, string>> | null | undefined, key: string): string | undefined {
  return map != null && Object.hasOwn(map, key) ? map[key] : undefined;
}

const ORDERS = {
  '=': (left, right) => left === right,
  '<': (left, right) => left < right,
  '<=': (left, right) => left <= right,
  '>': (left, right) => left > right,
  '>=': (left, right) => left >= right,
} as const satisfies Record<Order, (left: number, right: number) => boolean>;

function textPredicate(test: TextTest): (text: string) => boolean {
  switch (test.kind) {
    case 'fits':
      return (text) => fitsPattern(text, test.pattern);
    case 'compare': {
      if (test.order === '=') return (text) => text === test.text;
      const holds = ORDERS[test.order];
      return (text) => holds(compareCodePoints(text, test.text), 0);
    }
  }
}

/** As COLLATE "C" does on UTF-8. JavaScript's own `<` would put U+FFFF behind the emoji. */
function compareCodePoints(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const ours = left.charCodeAt(index);
    const theirs = right.charCodeAt(index);
    if (ours !== theirs) return orderOfUnit(ours) - orderOfUnit(theirs);
  }
  return left.length - right.length;
}

/** Half of a surrogate pair means a code point above every other unit. */
function orderOfUnit(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
