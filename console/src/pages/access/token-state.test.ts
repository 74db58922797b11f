import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { expect, it } from 'vitest';
import { tokenState } from './token-state.ts';

const NOW = 1_800_000_000_000;
const DAY = 86_400_000;
const inDays = (days: number) => timestampFromMs(NOW + days * DAY);

it.each([
  ['revoked, whatever its expiry', { revokedAt: inDays(-1), expiresAt: inDays(50) }, 'revoked'],
  ['past its expiry', { expiresAt: inDays(-1) }, 'expired'],
  ['expiring within two weeks', { expiresAt: inDays(13) }, 'expires soon'],
  ['expiring later', { expiresAt: inDays(15) }, 'valid'],
  ['without an expiry', {}, 'never expires'],
])('a token %s', (_what, token, state) => {
  expect(tokenState({ revokedAt: undefined, expiresAt: undefined, ...token }, NOW).state).toBe(state);
});
