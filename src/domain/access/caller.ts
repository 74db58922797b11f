/** Who is calling, what the caller may do, and to which machines. */
import type { Actor, Role } from '../actor.ts';
import { isRole, roleCovers } from '../actor.ts';
import type { Scope } from './scope.ts';

/** How a caller proves its identity. */
export type WayInKind = 'token' | 'session' | 'oidc' | 'certificate';

/** What a token, a mapped claim or a mapped certificate allows. grantOf makes one. */
export interface Grant {
  /** viewer, operator, admin, or a role of the configuration. */
  readonly role: string;
  /** The methods of a role of the configuration; null for viewer, operator and admin. */
  readonly methods: ReadonlySet<string> | null;
  /** Null: the whole fleet. */
  readonly scope: Scope | null;
}

export interface Identity extends Grant {
  readonly actor: Actor;
  readonly via: WayInKind;
  /** The issuer that vouches for it; not set for tokens and certificates. */
  readonly issuer?: string;
  /** In milliseconds since 1970; null: never. */
  readonly expiresAt: number | null;
}

export interface Caller extends Identity {
  /** The address that the connection comes from. */
  readonly address: string;
}

/** Who makes a change, and the machines to which it may be made. */
export type Acting = Pick<Caller, 'actor' | 'scope'>;

export function actingAs({ actor, scope }: Acting): Acting {
  return { actor, scope };
}

/** The roles of the configuration: the methods of each, by its name. */
export type RoleTable = ReadonlyMap<string, ReadonlySet<string>>;

const NO_METHODS: ReadonlySet<string> = new Set();

/** A role that is neither built in nor configured any more may call nothing. */
export function grantOf(
  roles: RoleTable,
  { role, scope }: { readonly role: string; readonly scope: Scope | null },
): Grant {
  return { role, scope, methods: isRole(role) ? null : (roles.get(role) ?? NO_METHODS) };
}

/** Everyone may ask who they are, for clients show what they may do, and sign in to the console. */
const FOR_EVERY_ROLE: readonly string[] = ['baremetal.fleet.v1.FleetService/WhoAmI', 'POST /auth/session'];

/** `method` is `package.Service/Method`, or `METHOD /path` of a REST route; `needed` is the built-in role that may call it. */
export function mayCall(
  { role, methods }: Pick<Grant, 'role' | 'methods'>,
  method: string,
  needed: Role,
): boolean {
  if (FOR_EVERY_ROLE.includes(method)) return true;
  return methods === null ? isRole(role) && roleCovers(role, needed) : methods.has(method);
}

/** Whether a caller may do everything that a grant allows; scopes apart. */
export function coversGrant(
  caller: Pick<Grant, 'role' | 'methods'>,
  grant: Pick<Grant, 'role' | 'methods'>,
): boolean {
  if (caller.methods === null)
    return isRole(caller.role) && roleCovers(caller.role, isRole(grant.role) ? grant.role : 'admin');
  const { methods } = caller;
  return grant.methods !== null && [...grant.methods].every((method) => methods.has(method));
}

/** Who made a change: an admin, or another operator. */
export function actorOf(role: string, name: string): Actor {
  return { kind: role === 'admin' ? 'admin' : 'operator', id: name };
}
