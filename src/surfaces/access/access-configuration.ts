/**
 * Roles and grants in the configuration file.
 *
 * `roles` are the custom roles: a name and the methods that it may call. A grant is the role and the scope that a mapped claim or
 * certificate gives. To use one: put `...grantFields` into the schema of the mapping, give the mapping's role to `roleProblem`
 * when the whole file is read (an unknown role stops the start), and turn it into what a caller has with
 * `grantOf` of src/domain/access/caller.ts and `parseScope`. Where several mappings apply to one caller, choose one:
 * rights are never added up.
 */
import { z } from 'zod';
import type { RoleTable } from '../../domain/access/caller.ts';
import { parseScope } from '../../domain/access/scope.ts';
import { isRole, ROLES } from '../../domain/actor.ts';
import { nearest } from '../../domain/nearest.ts';
import { knownMethods } from './known-methods.ts';

const ROLE_NAME = /^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

function nameProblem(name: string): string | null {
  if (isRole(name)) return `must have another name: ${ROLES.join(', ')} are built in`;
  return ROLE_NAME.test(name) ? null : 'must be 1 to 63 lower-case letters, digits or "-", such as on-call';
}

const methods = z
  .array(z.string())
  .min(1, 'must name a method at least')
  .max(1_000)
  .transform((patterns, context): ReadonlySet<string> => {
    const known = knownMethods();
    const found = patterns.map((pattern) => methodsLike(pattern, known));
    for (const [place, names] of found.entries()) {
      if (names.length > 0) continue;
      const pattern = patterns[place] ?? '';
      const message = `${JSON.stringify(pattern.slice(0, 120))} is no method; the nearest is ${nearestMethod(pattern, known)}`;
      context.addIssue({ code: 'custom', path: [place], message });
    }
    return new Set(found.flat());
  });

/** Beside viewer, operator and admin. */
export const rolesConfiguration = z
  .record(z.string(), z.strictObject({ methods }))
  .default({})
  .superRefine((roles, context) => {
    for (const name of Object.keys(roles)) {
      const message = nameProblem(name);
      if (message !== null) context.addIssue({ code: 'custom', path: [name], message });
    }
  })
  .transform(
    (roles): RoleTable => new Map(Object.entries(roles).map(([name, role]) => [name, role.methods])),
  );

/** A filter over machines; without it, the whole fleet. It stays text, because the configuration is sent to worker processes. */
const scope = z
  .string()
  .default('')
  .superRefine((text, context) => {
    try {
      parseScope(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message });
    }
  });

export const grantFields = { role: z.string().min(1, 'must be a role'), scope };

/** Null: there is such a role. */
export function roleProblem(roles: RoleTable, role: string): string | null {
  if (isRole(role) || roles.has(role)) return null;
  const known = [...ROLES, ...roles.keys()];
  return `there is no role ${JSON.stringify(role.slice(0, 64))}; there are ${known.join(', ')}`;
}

/** `package.Service/Method`, `Service/Method` of every version, or `METHOD /path`; a `*` at the end stands for any rest. */
function methodsLike(pattern: string, known: readonly string[]): string[] {
  if (!/[/]/.test(pattern)) return [];
  const wanted = (name: string) =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
  return known.filter((name) => wanted(name) || wanted(shortName(name)));
}

function nearestMethod(pattern: string, known: readonly string[]): string {
  const isShort = !pattern.includes(' ') && !pattern.split('/')[0]?.includes('.');
  return nearest(pattern, isShort ? known.map(shortName) : known) ?? '';
}

/** `MachineService/GetMachine`. A route has no shorter name. */
function shortName(name: string): string {
  return name.includes(' ') ? name : name.slice(name.lastIndexOf('.') + 1);
}
