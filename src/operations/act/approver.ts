/** Who may approve what another person asked for: a single operation, or a wave of a rollout. */
import type { Caller } from '../../domain/access/caller.ts';
import { actorLabel, isRole, type Role, roleCovers } from '../../domain/actor.ts';

export interface ApprovalAsked {
  /** As "role:name". */
  readonly requestedBy: string;
  /** Who created the token of the caller, and who created theirs: see findTokenCreators. */
  readonly tokenCreators: readonly string[];
}

/** Why the caller is no second person; null where it is one. */
export function notSecondPerson(
  caller: Caller,
  { requestedBy, tokenCreators }: ApprovalAsked,
): string | null {
  const { actor } = caller;
  const requester = requestedBy.slice(requestedBy.indexOf(':') + 1);
  if (actor.id === requester) return `${actorLabel(actor)} asked for it, and another person must approve`;
  // Otherwise a requester could make a second token and approve with that, or with one that the second made.
  const place = tokenCreators.indexOf(requester);
  if (place < 0) return null;
  return place === 0
    ? `${requester} asked for it and created the token ${actor.id}`
    : `${requester} asked for it, and the token ${actor.id} was created by ${tokenCreators[0]}, whose own goes back to ${requester}`;
}

/** Why the caller's role is too low; null where it is not. A role of the configuration that may approve at all counts as operator. */
export function roleTooLow({ actor, role, methods }: Caller, needed: Role): string | null {
  const covers = methods === null ? isRole(role) && roleCovers(role, needed) : needed === 'operator';
  return covers ? null : `it needs the role ${needed}; ${actor.id} has ${role}`;
}
