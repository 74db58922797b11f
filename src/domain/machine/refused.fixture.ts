import { expect } from 'vitest';
import { Fault } from '../error/fault.ts';

export const NUL = '\0';
export const LONE_SURROGATE = '\ud800';
const LINE_SEPARATOR = '\u2028';
export const UNPRINTABLE = [
  '\n',
  '\r',
  '\t',
  NUL,
  '\x1b',
  '\x7f',
  '\x85',
  LINE_SEPARATOR,
  '\u2029',
  LONE_SURROGATE,
  '\udc00',
];

export function faultOf(check: () => unknown): Fault {
  try {
    check();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error('was not refused');
}

/** Every refusal names its field, in a message that is one printable line. */
export function refused(check: () => unknown, field: string): Fault {
  const fault = faultOf(check);
  expect(fault.kind).toBe('invalid_argument');
  expect(fault.metadata.field).toBe(field);
  expect(fault.violations.map(({ subject }) => subject)).toEqual([field]);
  expect(fault.message).not.toMatch(/[\p{Cc}\p{Cs}\u2028\u2029]/u);
  return fault;
}
