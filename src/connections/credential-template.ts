import { z } from 'zod';
import type { Machine } from '../domain/machine/machine.ts';
import { CredentialProblem } from './credential-reference.ts';

const VALUES = {
  machine_id: ({ machineId }: Machine) => machineId,
  serial: ({ spec }: Machine) => spec.serial,
  site: ({ spec }: Machine) => spec.location.site,
} as const;

const PLACEHOLDER = /\{([a-z_]*)\}/g;

/** A path below the source's own, in which placeholders stand for a machine. */
export const template = z
  .string()
  .regex(
    /^[A-Za-z0-9._{}/-]{1,256}$/,
    'must be a path of letters, digits, ".", "_", "-", "/" and placeholders',
  )
  .refine(
    (text) => !text.split('/').some((part) => part === '' || part === '.' || part === '..'),
    'must stay below its path',
  )
  .refine(
    (text) => [...text.matchAll(PLACEHOLDER)].every(([, name = '']) => name in VALUES),
    `has a placeholder that is none of ${Object.keys(VALUES)
      .map((name) => `{${name}}`)
      .join(', ')}`,
  );

/** What a machine's spec says never leads out of the path: a value is one part of it, and not a dot. */
const SAFE_VALUE = /^[A-Za-z0-9_][A-Za-z0-9._:@-]{0,254}$/;

export function fillTemplate(text: string, machine: Machine): string {
  return text.replace(PLACEHOLDER, (_whole, name: keyof typeof VALUES) => {
    const value = VALUES[name](machine);
    if (SAFE_VALUE.test(value)) return value;
    const problem = value === '' ? 'has none' : 'has one that can not be part of a path';
    throw new CredentialProblem(
      `credentials are looked up by {${name}}, and ${machine.machineId} ${problem}`,
    );
  });
}
