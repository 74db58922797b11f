import { type Caller, mayCall } from '../../domain/access/caller.ts';
import type { Role } from '../../domain/actor.ts';
import { Fault } from '../../domain/error/fault.ts';

/** The refusal names the role that the method needs. */
export function requirePermission(caller: Caller, method: string, needed: Role): void {
  if (mayCall(caller, method, needed)) return;
  const { role, methods, actor } = caller;
  throw new Fault('PERMISSION_DENIED', {
    message:
      methods === null
        ? `${method} needs the role ${needed}; ${actor.id} has ${role}`
        : `${method} is not among the methods of the role ${role}, which ${actor.id} has`,
    metadata: { needed, role, method },
  });
}
