import { type Grant, mayCall } from '../../domain/access/caller.ts';
import { methodName, operatorRoutes } from '../access/known-methods.ts';
import type { Service } from './service.ts';

/** Every method and REST route that a caller may call, so that a client can disable what it may not. */
export function callableMethods(caller: Grant, services: readonly Service[]): string[] {
  const calls = services.flatMap(({ desc, roles }) =>
    desc.methods.map(({ localName }) => ({
      name: methodName(desc, localName),
      needed: roles[localName] ?? 'admin',
    })),
  );
  return [...calls, ...operatorRoutes()]
    .filter(({ name, needed }) => mayCall(caller, name, needed))
    .map(({ name }) => name);
}
