/**
 * Messages for invalid values. A schema's own messages come first; these are for everything else, so that no response has
 * the validator's text in it.
 */
import type { z } from 'zod';

type Issue = Parameters<z.core.$ZodErrorMap>[0];
type IssueOf<Code extends Issue['code']> = Extract<Issue, { code: Code }>;

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

const FORMATS: Readonly<Record<string, string>> = {
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
  url: 'a URL',
  uuid: 'a UUID',
};

/** How much of a value, or of a list of values, a message quotes. */
const MAX_QUOTED = 200;

function listed(values: readonly unknown[]): string {
  return values.map(String).join(', ').slice(0, MAX_QUOTED);
}

/** A text is measured in characters, a list in members; a number is compared. */
function bounded(origin: string, limit: string, bound: number | bigint): string {
  if (origin === 'string') return `must have ${limit} ${bound} characters`;
  if (origin === 'array' || origin === 'set') return `must have ${limit} ${bound} members`;
  return `must be ${limit} ${bound}`;
}

function wrongType({ expected, input }: IssueOf<'invalid_type'>): string {
  if (input === undefined) return 'is required';
  return `must be ${TYPES[expected] ?? 'of another type'}`;
}

function unknownFields({ keys }: IssueOf<'unrecognized_keys'>): string {
  return keys.length === 1 ? `has no field ${listed(keys)}` : `has no fields ${listed(keys)}`;
}

function otherValue({ values }: IssueOf<'invalid_value'>): string {
  return values.length === 1 ? `must be ${listed(values)}` : `must be one of ${listed(values)}`;
}

const TEXTS = {
  invalid_type: wrongType,
  too_big: ({ origin, maximum }) => bounded(origin, 'at most', maximum),
  too_small: ({ origin, minimum }) => bounded(origin, 'at least', minimum),
  invalid_format: ({ format }) => `must be ${FORMATS[format] ?? 'of another form'}`,
  not_multiple_of: ({ divisor }) => `must be a multiple of ${divisor}`,
  unrecognized_keys: unknownFields,
  invalid_union: ({ input }) =>
    input === undefined ? 'is required' : 'has none of the forms that it may have',
  invalid_key: ({ issues }) => `has a key that can't be one: ${issues[0]?.message ?? 'it is not valid'}`,
  invalid_element: ({ issues }) =>
    `has a member that can't be one: ${issues[0]?.message ?? 'it is not valid'}`,
  invalid_value: otherValue,
  custom: () => 'is not valid',
} as const satisfies { readonly [Code in Issue['code']]: (issue: IssueOf<Code>) => string };

function problemText(issue: Issue): string {
  return (TEXTS[issue.code] as (issue: Issue) => string)(issue);
}

/** For every check of a value that comes from outside. */
export const IN_OUR_WORDS = { error: problemText } as const;
