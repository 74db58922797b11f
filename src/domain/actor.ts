/** Who made a change. Every event records one. Anonymous: a caller that was refused before it was known. */
export type ActorKind = 'admin' | 'system' | 'node_report' | 'agent' | 'operator' | 'anonymous';

/** The call in which an actor acts. It travels with the actor, so that every event of the call records it. */
export interface Origin {
  /** The address of the client. */
  readonly address: string;
  readonly requestId: string;
  /** The way in: token, session, oidc, certificate; empty where there is none. */
  readonly via: string;
  /** Why, in the caller's words: the comment of every event of the call that has none of its own. */
  readonly reason?: string;
}

export interface Actor {
  readonly kind: ActorKind;
  /** The name of the token, of the replica or of the agent. */
  readonly id: string;
  /** Not set: the server acts by itself. */
  readonly origin?: Origin;
}

export const ACTOR_KINDS = [
  'admin',
  'system',
  'node_report',
  'agent',
  'operator',
  'anonymous',
] as const satisfies readonly ActorKind[];

export function actorLabel(actor: Actor): string {
  return `${actor.kind}:${actor.id}`;
}

/** A caller with an operator's credentials, as opposed to the server itself, an agent or a node. */
export function isPerson({ kind }: Actor): boolean {
  return kind === 'admin' || kind === 'operator';
}

export type Role = 'viewer' | 'operator' | 'admin';

/** A role has all rights of the roles before it. */
export const ROLES = ['viewer', 'operator', 'admin'] as const satisfies readonly Role[];

export function roleCovers(held: Role, needed: Role): boolean {
  return ROLES.indexOf(held) >= ROLES.indexOf(needed);
}

export function isRole(text: string): text is Role {
  return (ROLES as readonly string[]).includes(text);
}
