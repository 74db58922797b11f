import { type Caller, mayCall } from '../../domain/access/caller.ts';
import type { Role } from '../../domain/actor.ts';
import { Fault } from '../../domain/error/fault.ts';

/** The refusal names the role that the method needs. */
export function requirePermission(caller: Caller, method: string, needed: Role): void {
  if (mayCall(caller, method, needed)) return;
  throw new Fault('PERMISSION_DENIED', {
    message: `${method} needs the role ${needed}; ${caller.actor.id} has ${caller.role}`,
    metadata: { needed, role: caller.role },
  });
}
