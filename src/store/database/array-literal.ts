/** PostgreSQL array literals, for statements with very many values: the driver's own arrays take twice as long. */

const SPECIAL = /["\\]/g;

export function textArray(values: ReadonlyArray<string | null>): string {
  let text = '{';
  for (const value of values) {
    if (text.length > 1) text += ',';
    text += value === null ? 'NULL' : `"${value.replace(SPECIAL, '\\$&')}"`;
  }
  return `${text}}`;
}

export function numberArray(values: ReadonlyArray<number | null>): string {
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`;
}
