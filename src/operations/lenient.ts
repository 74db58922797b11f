/**
 * How the side fields of a machine's report are read: each on its own, so that no detail costs the report. The valid part
 * is kept; what was cut or dropped is noted, with the field that it belongs to. A value that a reader gives up is
 * `undefined`.
 */

/** Notes what was not kept as it was sent. */
export type Note = (field: string, problem: string) => void;

export type LenientReader<T> = (value: unknown, field: string, note: Note) => T | undefined;

const MAX_NOTES = 16;
const MAX_FIELD_NAME = 64;
const MAX_QUOTED = 80;

/** What no text may carry: it moves cursors, or PostgreSQL can't keep it. */
const CONTROLS = /[\p{Cc}\p{Cs}\u2028\u2029]+/gu;
const OUTER_CONTROLS = /^[\p{Cc}\p{Cs}\u2028\u2029\s]+|[\p{Cc}\p{Cs}\u2028\u2029\s]+$/gu;

/** Fields with what became of them; more than so many are only counted. */
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

/** A machine's words with nothing in them that would move a cursor. */
function printable(text: string): string {
  return text.replace(CONTROLS, ' ').trim();
}

/** No longer than this, and no half of a character at its end. */
export function cutText(text: string, max: number): string {
  return text.length <= max ? text : text.slice(0, max).replace(/[\uD800-\uDBFF]$/, '');
}

export function quoted(value: string): string {
  return JSON.stringify(cutText(printable(value), MAX_QUOTED));
}

/** Null and an empty text say nothing, and that is no mistake. */
function isUnsaid(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** A number is a text too: serial numbers look like that. */
export function asText(value: unknown, field: string, note: Note): string | undefined {
  if (isUnsaid(value)) return undefined;
  if (typeof value === 'string') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  note(field, `dropped: ${kindOf(value)} is no text`);
  return undefined;
}

/** One line; what is too long is cut. */
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

/** Several lines become one without a note: errors are written like that. */
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

/** Whole, and within its bounds; a text that is a number counts, and one beyond a bound is at the bound. */
export function lenientCount(min: number, max: number): LenientReader<number> {
  return (value, field, note) => {
    if (isUnsaid(value)) return undefined;
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
    if (isUnsaid(value)) return undefined;
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

/** Each field by its own reader. What the table doesn't name is left out, and noted. */
export function lenientObject<F extends Fields>(fields: F): LenientReader<LenientObject<F>> {
  return (value, field, note) => {
    if (isUnsaid(value)) return undefined;
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
