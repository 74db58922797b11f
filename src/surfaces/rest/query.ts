/** Reads parameters of a query. One that is given twice means its first value; an empty one is absent. */
import { inAnyCase } from '../../domain/any-case.ts';
import { invalidField } from '../../domain/error/fault.ts';
import { macProblem, normalMac } from '../../domain/install/node.ts';
import { DEFAULT_PAGE, MAX_PAGE } from './api/node-api.ts';

export type Query = Readonly<Record<string, unknown>>;

export function textOf(query: Query, name: string): string | null {
  const value: unknown = query[name];
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return typeof first === 'string' && first !== '' ? first : null;
}

export function oneOf<T extends string>(query: Query, name: string, values: readonly T[]): T | null {
  const text = textOf(query, name);
  if (text === null) return null;
  const value = inAnyCase(values, text);
  if (!value) throw invalidField(name, `must be one of ${values.join(', ')}`);
  return value;
}

export function macOf(text: string | null): string | null {
  if (text === null) return null;
  const problem = macProblem(text);
  if (problem !== null) throw invalidField('mac', problem);
  return normalMac(text);
}

export function pageOf(query: Query): { limit: number; offset: number } {
  return {
    limit: countOf(query, 'limit', { fallback: DEFAULT_PAGE, min: 1, max: MAX_PAGE }),
    offset: countOf(query, 'offset', { fallback: 0, min: 0, max: Number.MAX_SAFE_INTEGER }),
  };
}

interface CountRule {
  readonly fallback: number;
  readonly min: number;
  readonly max: number;
}

function countOf(query: Query, name: string, { fallback, min, max }: CountRule): number {
  const text = textOf(query, name);
  if (text === null) return fallback;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max))
    throw invalidField(name, `must be a whole number from ${min} to ${max}`);
  return value;
}
