/**
 * What a filter may ask about. A field reads one attribute of a row: in memory with `get`, in SQL with the column that
 * the store has for the attribute (src/store/filter). Both must give the same answer for every row, also where the
 * attribute is absent: NULL there is null or undefined here.
 */
export type FilterSchema<Row, Attribute extends string = string> = Readonly<
  Record<string, FieldSpec<Row> & { readonly attribute: Attribute }>
>;

export type FieldSpec<Row> = WholeField<Row> | FlagsField<Row>;

/** A field that a filter can name without a key. */
export type WholeField<Row> =
  | StringField<Row>
  | EnumField<Row>
  | TimestampField<Row>
  | IntegerField<Row>
  | BooleanField<Row>
  | StringListField<Row>
  | MapField<Row>
  | ReferenceField;

type Maybe<Value> = Value | null | undefined;

interface Field {
  /** Two fields may read the same attribute: `customer_id` and `spec.customer_id`. */
  readonly attribute: string;
}

/** Text. The API answers an empty string for absent text, so `=""` finds absent and empty text, and `!=""` the rest. */
export interface StringField<Row> extends Field {
  readonly kind: 'string';
  /** Turns the API's spelling of a value, or of the start of one, into the stored spelling. */
  readonly stored?: (text: string) => string;
  readonly get: (row: Row) => Maybe<string>;
}

/** Text that is one of `values`. A filter may write them in any case. */
export interface EnumField<Row> extends Field {
  readonly kind: 'enum';
  readonly values: readonly string[];
  readonly get: (row: Row) => Maybe<string>;
}

/** A time, compared by the millisecond: a Date does not keep PostgreSQL's microseconds. */
export interface TimestampField<Row> extends Field {
  readonly kind: 'timestamp';
  readonly get: (row: Row) => Maybe<Date>;
}

export interface IntegerField<Row> extends Field {
  readonly kind: 'integer';
  readonly get: (row: Row) => Maybe<number>;
}

/** An absent value is neither true nor false. */
export interface BooleanField<Row> extends Field {
  readonly kind: 'boolean';
  readonly get: (row: Row) => Maybe<boolean>;
}

export interface StringListField<Row> extends Field {
  readonly kind: 'stringList';
  readonly get: (row: Row) => Maybe<readonly string[]>;
}

/** An object whose values are all strings. A filter may ask for any key. */
export interface MapField<Row> extends Field {
  readonly kind: 'map';
  readonly get: (row: Row) => Maybe<Readonly<Record<string, string>>>;
}

/**
 * Records that name the row, by their id: the rollouts that a machine is part of. Only the store knows them, so in memory no row
 * matches.
 */
export interface ReferenceField extends Field {
  readonly kind: 'reference';
}

/** A closed set of named booleans, such as a machine's conditions. */
export interface FlagsField<Row> extends Field {
  readonly kind: 'flags';
  readonly keys: readonly string[];
  readonly get: (row: Row, key: string) => Maybe<boolean>;
}

/** How an attribute is read, in a table whose keys are the attributes. */
export type Attribute<Row> =
  FieldSpec<Row> extends infer Spec ? (Spec extends FieldSpec<Row> ? Omit<Spec, 'attribute'> : never) : never;

/** One field for each attribute. */
export function fieldsOf<Row, Name extends string>(
  attributes: Readonly<Record<Name, Attribute<Row>>>,
): { readonly [Key in Name]: FieldSpec<Row> & { readonly attribute: Key } } {
  const names = Object.keys(attributes) as Name[];
  const fields = names.map((attribute) => [attribute, { ...attributes[attribute], attribute }]);
  return Object.fromEntries(fields);
}
