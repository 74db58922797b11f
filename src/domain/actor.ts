/** Who made a change. Every event records one. */
export type ActorKind = 'admin' | 'system' | 'node_report' | 'agent' | 'operator';

export interface Actor {
  readonly kind: ActorKind;
  /** The name of the token, of the replica or of the agent. */
  readonly id: string;
}

export const ACTOR_KINDS = [
  'admin',
  'system',
  'node_report',
  'agent',
  'operator',
] as const satisfies readonly ActorKind[];

export function actorLabel(actor: Actor): string {
  return `${actor.kind}:${actor.id}`;
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
