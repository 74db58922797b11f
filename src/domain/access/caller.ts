/** Who is calling, what the caller may do, and to which machines. */
import type { Actor, Role } from '../actor.ts';
import { roleCovers } from '../actor.ts';
import type { Scope } from './scope.ts';

/** How a caller proves its identity. */
export type WayInKind = 'token' | 'session' | 'oidc' | 'certificate';

/** What a token, a mapped claim or a mapped certificate allows. */
export interface Grant {
  readonly role: Role;
  /** Null: the whole fleet. */
  readonly scope: Scope | null;
}

export interface Identity extends Grant {
  readonly actor: Actor;
  readonly via: WayInKind;
  /** In milliseconds since 1970; null: never. */
  readonly expiresAt: number | null;
}

export interface Caller extends Identity {
  /** The address that the connection comes from. */
  readonly address: string;
}

/** `method` is `package.Service/Method`, or `METHOD /path` of a REST route; `needed` is the role that it asks for. */
export function mayCall(caller: Grant, _method: string, needed: Role): boolean {
  return roleCovers(caller.role, needed);
}

/** Who made a change: an admin, or another operator. */
export function actorOf(role: Role, name: string): Actor {
  return { kind: role === 'admin' ? 'admin' : 'operator', id: name };
}
