import { describe, expect, test } from 'vitest';
import type { Identity } from '../../domain/access/caller.ts';
import type { Database } from '../../store/database/database.ts';
import { Authenticator, type WayIn } from './authenticator.ts';
import type { Credentials } from './credentials.ts';
import { TokenWayIn } from './token-way-in.ts';

const BEARER: Credentials = {
  authorization: 'Bearer secret',
  cookie: undefined,
  certificate: null,
  address: '192.0.2.1',
  source: null,
};
const ROLES = new Map();
const ROW = {
  name: 'racer',
  role: 'viewer',
  scope: '',
  created_by: '',
  created_at: new Date(),
  expires_at: null,
};

/** Its queries are answered by the test, one at a time. */
function heldDatabase() {
  const answers: Array<(rows: unknown[]) => void> = [];
  const run = () => new Promise((resolve) => answers.push(resolve));
  return { database: { run } as unknown as Database, answers };
}

test('a token that is revoked while it is being read is not accepted afterwards', async () => {
  const { database, answers } = heldDatabase();
  const authenticator = new Authenticator([new TokenWayIn(database, ROLES, Date.now)]);
  const early = authenticator.caller(BEARER);
  authenticator.forget();
  const late = authenticator.caller(BEARER);
  answers[0]?.([{ ...ROW, revoked_at: null }]);
  expect((await early).role).toBe('viewer');
  answers[1]?.([]);
  await expect(late).rejects.toThrow('revoked');
  const later = authenticator.caller(BEARER);
  answers[2]?.([]);
  await expect(later).rejects.toThrow('revoked');
});

describe('with another way in', () => {
  const identity: Identity = {
    actor: { kind: 'operator', id: 'by-certificate' },
    role: 'operator',
    methods: null,
    scope: null,
    via: 'certificate',
    expiresAt: null,
  };
  const other: WayIn = { identify: async () => identity, forget: () => {} };

  test('a wrong token is refused', async () => {
    const { database, answers } = heldDatabase();
    const calling = new Authenticator([new TokenWayIn(database, ROLES, Date.now), other]).caller(BEARER);
    answers[0]?.([]);
    await expect(calling).rejects.toThrow('not known, revoked or expired');
  });

  test('a call without a token gets in by it, with the address that it comes from', async () => {
    const { database } = heldDatabase();
    const authenticator = new Authenticator([new TokenWayIn(database, ROLES, Date.now), other]);
    expect(await authenticator.caller({ ...BEARER, authorization: undefined })).toEqual({
      ...identity,
      address: '192.0.2.1',
    });
  });
});
