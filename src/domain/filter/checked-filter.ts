import type { Pattern } from './ast.ts';
import type {
  BooleanField,
  EnumField,
  FlagsField,
  IntegerField,
  MapField,
  ReferenceField,
  StringField,
  StringListField,
  TimestampField,
  WholeField,
} from './fields.ts';

/**
 * A valid filter: every field exists and every value has its field's type. The tests are few on purpose, because SQL and the
 * predicate must agree on each. Every test is false for an absent value; `!=` is NOT `=`, so it is true for one.
 */
export type CheckedFilter<Row> =
  | { readonly kind: 'and'; readonly terms: readonly CheckedFilter<Row>[] }
  | { readonly kind: 'or'; readonly terms: readonly CheckedFilter<Row>[] }
  | { readonly kind: 'not'; readonly term: CheckedFilter<Row> }
  | FieldTest<Row>;

export type FieldTest<Row> =
  /** A list or a map is present when it is not empty. */
  | { readonly kind: 'present'; readonly field: WholeField<Row> }
  /** Text that is neither absent nor empty. */
  | { readonly kind: 'filled'; readonly field: StringField<Row> }
  | { readonly kind: 'string'; readonly field: StringField<Row>; readonly test: TextTest }
  | { readonly kind: 'enum'; readonly field: EnumField<Row>; readonly oneOf: readonly string[] }
  | {
      readonly kind: 'timestamp';
      readonly field: TimestampField<Row>;
      readonly order: Order;
      readonly at: number;
    }
  | {
      readonly kind: 'integer';
      readonly field: IntegerField<Row>;
      readonly order: Order;
      readonly value: number;
    }
  | { readonly kind: 'boolean'; readonly field: BooleanField<Row>; readonly value: boolean }
  | { readonly kind: 'member'; readonly field: StringListField<Row>; readonly test: TextTest }
  | { readonly kind: 'reference'; readonly field: ReferenceField; readonly id: string }
  | { readonly kind: 'entryPresent'; readonly field: MapField<Row>; readonly key: string }
  | { readonly kind: 'entry'; readonly field: MapField<Row>; readonly key: string; readonly test: TextTest }
  | { readonly kind: 'flagPresent'; readonly field: FlagsField<Row>; readonly key: string }
  | { readonly kind: 'flag'; readonly field: FlagsField<Row>; readonly key: string; readonly value: boolean };

export type Order = '=' | '<' | '<=' | '>' | '>=';

/** Text is ordered by code point. */
export type TextTest =
  | { readonly kind: 'compare'; readonly order: Order; readonly text: string }
  | { readonly kind: 'fits'; readonly pattern: Pattern };
