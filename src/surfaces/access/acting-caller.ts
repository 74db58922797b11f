/** A caller in a call: its actor carries the call, so that every event of it says where it came from. */
import type { Caller } from '../../domain/access/caller.ts';
import type { Actor } from '../../domain/actor.ts';

export function actingCaller(caller: Caller, requestId: string): Caller {
  const { address, via, actor } = caller;
  return { ...caller, actor: { ...actor, origin: { address, requestId, via } } };
}

/** A caller that was refused before it was known. */
export function anonymousActor(address: string, requestId: string): Actor {
  return { kind: 'anonymous', id: 'unknown', origin: { address, requestId, via: '' } };
}
