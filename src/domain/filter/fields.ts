/**
 * What may be filtered, and where it is found: in SQL by `column`, in memory by `get`. Both must tell the
 * same story about a row, absence included: NULL there is null or undefined here.
 *
 * `column` is an SQL expression that comes from code and never from a request. It may be more than a column
 * name, as long as it has the type that its field names.
 */
export type FilterSchema<Row> = Readonly<Record<string, FieldSpec<Row>>>;

export type FieldSpec<Row> = WholeField<Row> | FlagsField<Row>;

/** A field that can be asked about by its name alone. */
export type WholeField<Row> =
  | StringField<Row>
  | EnumField<Row>
  | TimestampField<Row>
  | IntegerField<Row>
  | BooleanField<Row>
  | StringListField<Row>
  | MapField<Row>;

type Maybe<Value> = Value | null | undefined;

/**
 * text. In an answer of the API what is absent is an empty string, so `=""` finds what is absent and what is empty,
 * and `!=""` the rest.
 */
export interface StringField<Row> {
  readonly kind: 'string';
  readonly column: string;
  /** How a value, or the start of one, is written in the column, where the API has another spelling for it. */
  readonly stored?: (text: string) => string;
  readonly get: (row: Row) => Maybe<string>;
}

/** text that is one of `values`, exactly as they are spelled here; in a filter any case will do. */
export interface EnumField<Row> {
  readonly kind: 'enum';
  readonly values: readonly string[];
  readonly column: string;
  readonly get: (row: Row) => Maybe<string>;
}

/** timestamptz. Compared by the millisecond, because that is all a Date keeps of PostgreSQL's microseconds. */
export interface TimestampField<Row> {
  readonly kind: 'timestamp';
  readonly column: string;
  readonly get: (row: Row) => Maybe<Date>;
}

/** smallint, integer or bigint. */
export interface IntegerField<Row> {
  readonly kind: 'integer';
  readonly column: string;
  readonly get: (row: Row) => Maybe<number>;
}

/** boolean. What is absent is neither true nor false. */
export interface BooleanField<Row> {
  readonly kind: 'boolean';
  readonly column: string;
  readonly get: (row: Row) => Maybe<boolean>;
}

/** text[]. */
export interface StringListField<Row> {
  readonly kind: 'stringList';
  readonly column: string;
  readonly get: (row: Row) => Maybe<readonly string[]>;
}

/** jsonb, an object whose values are all strings. Any key may be asked for. */
export interface MapField<Row> {
  readonly kind: 'map';
  readonly column: string;
  readonly get: (row: Row) => Maybe<Readonly<Record<string, string>>>;
}

/**
 * A closed set of named booleans, such as a machine's conditions. `column` is asked for the boolean of one
 * of `keys`, so it may answer with whatever an index serves best: `conditions @> '{"RMA": true}'`.
 */
export interface FlagsField<Row> {
  readonly kind: 'flags';
  readonly keys: readonly string[];
  readonly column: (key: string) => string;
  readonly get: (row: Row, key: string) => Maybe<boolean>;
}
