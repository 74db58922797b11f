/**
 * Reads the minor fields of a machine's report one by one, so that no invalid detail fails the whole report. The valid part is
 * kept; what was cut or dropped is noted with its field. A value that can't be read is `undefined`.
 */

/** Notes what was changed or dropped. */
export type Note = (field: string, problem: string) => void;

export type LenientReader<T> = (value: unknown, field: string, note: Note) => T | undefined;

const MAX_NOTES = 16;
const MAX_FIELD_NAME = 64;
const MAX_QUOTED = 80;

/** Characters that no text may hold: they move cursors, or PostgreSQL can't store them. */
const CONTROLS = /[\p{Cc}\p{Cs}\u2028\u2029]+/gu;
const OUTER_CONTROLS = /^[\p{Cc}\p{Cs}\u2028\u2029\s]+|[\p{Cc}\p{Cs}\u2028\u2029\s]+$/gu;

/** The fields that were adjusted, with the reason; from a number on they are only counted. */
export interface Adjustments {
  readonly note: Note;
  readonly noted: () => Readonly<Record<string, string>>;
}

export function collectAdjustments(): Adjustments {
  const noted = new Map<string, string>();
  let more = 0;
  return {
    note: (field, problem) => {
      const name = printable(field).slice(0, MAX_FIELD_NAME);
      if (noted.has(name)) return;
      if (noted.size < MAX_NOTES) noted.set(name, problem);
      else more += 1;
    },
    noted: () => ({
      ...Object.fromEntries(noted),
      ...(more > 0 && { '...': `${more} more fields were cut or dropped` }),
    }),
  };
}

/** A machine's text without characters that move a cursor. */
function printable(text: string): string {
  return text.replace(CONTROLS, ' ').trim();
}

/** At most this long, without a cut character at its end. */
export function cutText(text: string, max: number): string {
  return text.length <= max ? text : text.slice(0, max).replace(/[\uD800-\uDBFF]$/, '');
}

export function quoted(value: string): string {
  return JSON.stringify(cutText(printable(value), MAX_QUOTED));
}

/** Null and an empty text are the same as no value. */
function isMissing(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** A number counts as text: some serial numbers are sent as numbers. */
export function asText(value: unknown, field: string, note: Note): string | undefined {
  if (isMissing(value)) return undefined;
  if (typeof value === 'string') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  note(field, `dropped: ${kindOf(value)} is no text`);
  return undefined;
}

/** One line; a longer one is cut. */
export function lenientLine(max: number): LenientReader<string> {
  return (value, field, note) => {
    const text = asText(value, field, note)?.replace(OUTER_CONTROLS, '');
    if (text === undefined || text === '') return undefined;
    const line = printable(text);
    const kept = cutText(line, max);
    if (kept.length < line.length) note(field, `cut: the first ${max} of ${line.length} characters are kept`);
    else if (line !== text) note(field, 'control characters are taken out');
    return kept === '' ? undefined : kept;
  };
}

/** Several lines become one without a note: error messages often have several. */
export function lenientProse(max: number): LenientReader<string> {
  return (value, field, note) => {
    const text = asText(value, field, note);
    if (text === undefined) return undefined;
    const line = printable(text);
    const kept = cutText(line, max);
    if (kept.length < line.length) note(field, `cut: the first ${max} of ${line.length} characters are kept`);
    return kept === '' ? undefined : kept;
  };
}

/** A whole number within its bounds; a number in a text counts, and one beyond a bound becomes the bound. */
export function lenientCount(min: number, max: number): LenientReader<number> {
  return (value, field, note) => {
    if (isMissing(value)) return undefined;
    const read = typeof value === 'string' ? readNumber(value) : value;
    if (typeof read !== 'number' || Number.isNaN(read)) {
      note(field, `dropped: ${typeof value === 'string' ? quoted(value) : kindOf(value)} is no number`);
      return undefined;
    }
    const kept = Math.min(max, Math.max(min, Math.floor(read)));
    if (read < min || read > max) note(field, `${String(read)} is taken as ${kept}`);
    return kept;
  };
}

function readNumber(text: string): number {
  const trimmed = text.trim().replace(/\s*%$/, '');
  return /^[+-]?\d+(?:\.\d*)?$/.test(trimmed) ? Number(trimmed) : Number.NaN;
}

export function lenientChoice<T extends string>(values: readonly T[]): LenientReader<T> {
  return (value, field, note) => {
    const text = asText(value, field, note)?.trim().toLowerCase();
    if (text === undefined || text === '') return undefined;
    const known = values.find((candidate) => candidate === text);
    if (known === undefined) note(field, `dropped: ${quoted(text)} is none of ${values.join(', ')}`);
    return known;
  };
}

/** Members that can't be read are left out; there are no more than `max`. */
export function lenientList<T>(member: LenientReader<T>, max: number): LenientReader<T[]> {
  return (value, field, note) => {
    if (isMissing(value)) return undefined;
    if (!Array.isArray(value)) {
      note(field, `dropped: ${kindOf(value)} is no list`);
      return undefined;
    }
    if (value.length > max) note(field, `cut: the first ${max} of ${value.length} members are kept`);
    return value.slice(0, max).flatMap((entry: unknown, index) => {
      const read = member(entry, `${field}.${index}`, note);
      return read === undefined ? [] : [read];
    });
  };
}

type Fields = Readonly<Record<string, LenientReader<unknown>>>;
export type LenientObject<F extends Fields> = { [Name in keyof F]?: Exclude<ReturnType<F[Name]>, undefined> };

/** Each field by its own reader. A field that the table does not have is left out, and noted. */
export function lenientObject<F extends Fields>(fields: F): LenientReader<LenientObject<F>> {
  return (value, field, note) => {
    if (isMissing(value)) return undefined;
    if (typeof value !== 'object' || Array.isArray(value)) {
      note(field, `dropped: ${kindOf(value)} is no object`);
      return undefined;
    }
    const read: Record<string, unknown> = {};
    for (const [name, entry] of Object.entries(value as object)) {
      const path = field === '' ? name : `${field}.${name}`;
      const reader = Object.hasOwn(fields, name) ? fields[name] : undefined;
      if (!reader) {
        note(path, 'dropped: there is no such field');
        continue;
      }
      const kept = reader(entry, path, note);
      if (kept !== undefined) read[name] = kept;
    }
    return read as LenientObject<F>;
  };
}
