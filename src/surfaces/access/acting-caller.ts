/** A caller in a call: its actor carries the call, so that every event of it says where it came from. */
import type { Caller } from '../../domain/access/caller.ts';
import type { Actor } from '../../domain/actor.ts';
import { invalidField } from '../../domain/error/fault.ts';
import { checkText } from '../../domain/machine/machine-input.ts';
import { type Credentials, REASON_HEADER } from './credentials.ts';

const LONGEST_REASON = 1000;

export function actingCaller(
  caller: Caller,
  requestId: string,
  { reason }: Pick<Credentials, 'reason'>,
): Caller {
  const { role, methods, scope, via, issuer, expiresAt, address } = caller;
  const { kind, id } = caller.actor;
  const given = reason === undefined ? '' : reasonOf(reason);
  const origin = given === '' ? { address, requestId, via } : { address, requestId, via, reason: given };
  const actor = { kind, id, origin };
  // Field by field: to spread the caller costs a microsecond of every call.
  return issuer === undefined
    ? { role, methods, scope, actor, via, expiresAt, address }
    : { role, methods, scope, actor, via, issuer, expiresAt, address };
}

/** Percent-encoded, because a header has no other way to carry every letter. */
function reasonOf(header: string): string {
  let text: string;
  try {
    text = decodeURIComponent(header).trim();
  } catch {
    throw invalidField(REASON_HEADER, 'must be percent-encoded UTF-8');
  }
  return text === '' ? '' : checkText(text, REASON_HEADER, LONGEST_REASON);
}

/** A caller that was refused before it was known. */
export function anonymousActor(address: string, requestId: string): Actor {
  return { kind: 'anonymous', id: 'unknown', origin: { address, requestId, via: '' } };
}
