/**
 * Suggestions for a filter. Reads the text up to the caret term by term, and stops at the word under the caret. Invalid
 * text has no suggestions; its error is shown when it is applied.
 */

import { COMPARATORS, type Comparator } from '../domain/filter/ast.ts';
import { COMPARATORS_OF } from '../domain/filter/check.ts';
import { MACHINE_FILTER } from '../domain/filter/machine-filter.ts';
import { printPath, printValue } from './filter-text.ts';

export interface Suggestion {
  readonly text: string;
  readonly hint: string;
  /** Replaces the text from `from` to the caret. */
  readonly insert: string;
}

export interface Suggestions {
  readonly from: number;
  readonly options: readonly Suggestion[];
}

/** What machines have, beside the filter's own tables. */
export interface Known {
  readonly labelKeys: readonly string[];
  readonly values: (field: string) => readonly string[];
  readonly now: number;
}

type FieldKind = keyof typeof COMPARATORS_OF;

const SHOWN = 12;
const NAME = /(?:"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|[^\s()"'\\,:*=!<>])*/y;
const VALUE = /"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|[^\s()"'\\,=!<>]*/y;
const OPENING = /[\s(]*(?:(?:NOT(?=[\s(])|-)[\s(]*)?/y;
const JOINING = /[\s)]*(?:(?:AND|OR)(?=[\s(]))?/y;
const SPACE = /\s*/y;

const COMPARATOR_HINTS = {
  '=': 'equals; * matches any text',
  '!=': 'does not equal',
  ':': 'contains',
  '<': 'before',
  '<=': 'before or at',
  '>': 'after',
  '>=': 'after or at',
} as const satisfies Record<Comparator, string>;

const KEYWORD_HINTS = { AND: 'both', OR: 'either; binds before AND', NOT: 'negates' } as const;
type Keyword = keyof typeof KEYWORD_HINTS;
const KEYWORDS = Object.keys(KEYWORD_HINTS) as Keyword[];

export function suggest(text: string, caret: number, known: Known): Suggestions {
  const head = text.slice(0, caret);
  let at = 0;
  let keywords: readonly Keyword[] = ['NOT'];
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const taken = pattern.exec(head)?.[0] ?? '';
    at += taken.length;
    return taken;
  };
  for (;;) {
    take(OPENING);
    const from = at;
    const name = take(NAME);
    if (at === head.length) return { from, options: fieldSuggestions(name, keywords, known) };
    if (name === '') return nothingAt(caret);
    const space = take(SPACE);
    const comparator = COMPARATORS.find((candidate) => head.startsWith(candidate, at));
    const field = unquoted(name);
    if (!comparator) {
      const options = at === head.length && space !== '' ? comparatorSuggestions(field) : [];
      return { from: caret, options };
    }
    at += comparator.length;
    take(SPACE);
    const valueFrom = at;
    const value = take(VALUE);
    if (at === head.length) return valueSuggestions(field, value, valueFrom, known);
    if (value === '') return nothingAt(caret);
    take(JOINING);
    keywords = KEYWORDS;
  }
}

/** The field whose value is being typed; empty: none is. */
export function valueField(text: string, caret: number, known: Omit<Known, 'values'>): string {
  let wanted = '';
  const values = (field: string): readonly string[] => {
    wanted = field;
    return [];
  };
  suggest(text, caret, { ...known, values });
  return wanted;
}

function nothingAt(caret: number): Suggestions {
  return { from: caret, options: [] };
}

function unquoted(word: string): string {
  return word.replace(/["']/g, '');
}

function fieldSuggestions(name: string, keywords: readonly Keyword[], known: Known): Suggestion[] {
  const typed = unquoted(name);
  const fields = fieldNames(known).map((field) => ({
    text: field,
    hint: fieldHint(field),
    insert: printPath(field),
  }));
  const words = keywords.map((text) => ({ text, hint: KEYWORD_HINTS[text], insert: `${text} ` }));
  // A complete field is followed by its comparators, then by longer names.
  const comparators = comparatorSuggestions(typed).map((option) => ({
    ...option,
    insert: `${name}${option.insert}`,
  }));
  const others = ranked([...fields, ...words], typed).filter(({ text }) => text !== typed);
  return [...comparators, ...others].slice(0, SHOWN);
}

function comparatorSuggestions(field: string): Suggestion[] {
  const kind = kindOf(field);
  if (!kind) return [];
  return COMPARATORS_OF[kind].map((comparator) => ({
    text: `${field} ${comparator}`,
    hint: COMPARATOR_HINTS[comparator],
    insert: comparator,
  }));
}

function valueSuggestions(field: string, typed: string, from: number, known: Known): Suggestions {
  const values = valuesOf(field, known).map(({ text, hint }) => ({
    text,
    hint,
    insert: `${text === '*' ? text : printValue([text])} `,
  }));
  return { from, options: ranked(values, unquoted(typed)) };
}

function valuesOf(field: string, known: Known): Array<{ text: string; hint: string }> {
  const spec = MACHINE_FILTER[field];
  const anything = { text: '*', hint: 'any value' };
  const plain = (text: string) => ({ text, hint: '' });
  switch (kindOf(field)) {
    case 'enum': {
      // What exists comes first: the others are right, and find nothing.
      const existing = known.values(field);
      const others = (spec?.kind === 'enum' ? spec.values : []).filter((value) => !existing.includes(value));
      return [...existing.map(plain), ...others.map(plain), anything];
    }
    case 'flag':
    case 'boolean':
      return [...['true', 'false'].map(plain), anything];
    case 'timestamp':
      return PAST.map(([hint, ms]) => ({ text: new Date(known.now - ms).toISOString(), hint }));
    case 'map':
      return known.labelKeys.map(plain);
    case 'string':
    case 'entry':
      return [...known.values(field).map(plain), anything];
    default:
      return [];
  }
}

const PAST = [
  ['15 minutes ago', 15 * 60_000],
  ['an hour ago', 3_600_000],
  ['a day ago', 86_400_000],
  ['a week ago', 7 * 86_400_000],
] as const;

function kindOf(field: string): FieldKind | null {
  const spec = Object.hasOwn(MACHINE_FILTER, field) ? MACHINE_FILTER[field] : undefined;
  if (spec && spec.kind !== 'flags') return spec.kind;
  const dot = field.indexOf('.');
  const key = field.slice(dot + 1);
  const holder = dot > 0 && key !== '' ? MACHINE_FILTER[field.slice(0, dot)] : undefined;
  if (holder?.kind === 'map') return 'entry';
  return holder?.kind === 'flags' && holder.keys.includes(key) ? 'flag' : null;
}

function fieldNames(known: Known): string[] {
  return Object.entries(MACHINE_FILTER).flatMap(([name, field]) => {
    if (field.kind === 'flags') return field.keys.map((key) => `${name}.${key}`);
    return field.kind === 'map' ? [...known.labelKeys.map((key) => `${name}.${key}`), name] : [name];
  });
}

const FIELD_HINTS = {
  string: 'text',
  enum: 'state',
  timestamp: 'time',
  integer: 'number',
  boolean: 'true or false',
  stringList: 'list',
  map: 'has key',
  reference: 'id',
  entry: 'label',
  flag: 'condition',
} as const satisfies Record<FieldKind, string>;

function fieldHint(field: string): string {
  const kind = kindOf(field);
  return kind ? FIELD_HINTS[kind] : '';
}

/** Options that start with the typed text, then those that contain it. */
function ranked(options: readonly Suggestion[], typed: string): Suggestion[] {
  const wanted = typed.toLowerCase();
  const begins = options.filter(({ text }) => text.toLowerCase().startsWith(wanted));
  const contains = options.filter(
    (option) => option.text.toLowerCase().includes(wanted) && !begins.includes(option),
  );
  return [...begins, ...contains].slice(0, SHOWN);
}

/** Each value once, the most frequent first. */
export function mostFrequent(values: Iterable<string>): string[] {
  const counts = new Map<string, number>();
  for (const value of values) if (value !== '') counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts]
    .toSorted(([left, less], [right, more]) => more - less || (left < right ? -1 : 1))
    .map(([value]) => value);
}
