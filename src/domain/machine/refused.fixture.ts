import { expect } from 'vitest';
import { Fault } from '../error/fault.ts';

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
