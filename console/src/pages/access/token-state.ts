import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { Tone } from '../../../../src/domain/tone.ts';
import type { Token } from '../../../../src/gen/baremetal/admin/v1/admin_service_pb.ts';

const SOON_MS = 14 * 86_400_000;

export interface TokenState {
  readonly state: 'valid' | 'expires soon' | 'never expires' | 'expired' | 'revoked';
  readonly tone: Tone;
}

/** A token that never expires stands out as one that is about to: someone should decide about both. */
export function tokenState(token: Pick<Token, 'revokedAt' | 'expiresAt'>, now: number): TokenState {
  if (token.revokedAt) return { state: 'revoked', tone: 'gray' };
  const expires = token.expiresAt ? timestampMs(token.expiresAt) : null;
  if (expires === null) return { state: 'never expires', tone: 'yellow' };
  if (expires <= now) return { state: 'expired', tone: 'gray' };
  return expires - now < SOON_MS
    ? { state: 'expires soon', tone: 'yellow' }
    : { state: 'valid', tone: 'green' };
}
