/**
 * The SQL expression of each attribute that a filter can ask about. It comes from code, never from a request, and has the
 * type of the attribute's kind: text for string and enum, timestamptz, an integer type, boolean, text[] for a list of
 * strings, jsonb for a map. Flags have a function from one of their keys to a boolean, so that it may be whatever an
 * index serves best. A reference has a function from the parameter that has the id to a condition, and so has a text whose equality an index
 * serves only in another form.
 *
 * A table `satisfies FilterColumns<...>` of the domain's attributes, so an attribute without a column does not compile.
 */
type FlagColumn = (key: string) => string;

export interface EqualityColumn {
  readonly column: string;
  readonly equal: (parameter: string) => string;
}

export type FilterColumns<Attributes extends Readonly<Record<string, { readonly kind: string }>>> = {
  readonly [Name in keyof Attributes]: Attributes[Name]['kind'] extends 'flags' | 'reference'
    ? FlagColumn
    : Attributes[Name]['kind'] extends 'string'
      ? string | EqualityColumn
      : string;
};

/** The columns of any table, for code that takes a checked filter of that table. */
export type AnyFilterColumns = Readonly<Record<string, string | EqualityColumn | FlagColumn>>;

export function columnOf(columns: AnyFilterColumns, attribute: string): string {
  const found = columns[attribute];
  const column = typeof found === 'object' ? found.column : found;
  if (typeof column !== 'string') throw new Error(`the filter attribute ${attribute} has no column`);
  return column;
}

/** Null: with the column itself. */
export function equalityOf(columns: AnyFilterColumns, attribute: string): EqualityColumn['equal'] | null {
  const column = columns[attribute];
  return typeof column === 'object' ? column.equal : null;
}

export function flagColumnOf(columns: AnyFilterColumns, attribute: string, key: string): string {
  const column = columns[attribute];
  if (typeof column !== 'function')
    throw new Error(`the filter attribute ${attribute} has no column for flags`);
  return column(key);
}
