// @module-tag extended: security/roles.test.ts and bearer.test.ts map claims to roles.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { oidcConfiguration } from '../../src/surfaces/access/oidc/oidc-configuration.ts';
import { AUDIENCE, startIssuer, type TestIssuer } from '../parts/issuer.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';

let issuer: TestIssuer;
let server: TestServer;
beforeAll(async () => {
  issuer = await startIssuer();
  const oidc = oidcConfiguration.parse([
    {
      name: 'corp',
      issuer: issuer.url,
      audience: AUDIENCE,
      client_id: 'ingot-console',
      mappings: [
        { claim: 'groups', value: 'fleet-admins', role: 'admin' },
        { claim: 'groups', value: 'fleet-ops', role: 'operator' },
        { claim: 'groups', value: 'acme', role: 'operator', scope: 'customer_id=acme' },
      ],
    },
  ]);
  server = await startTestServer({ configuration: { oidc } });
});
afterAll(async () => {
  await server?.stop();
  await issuer?.stop();
});

const whoAmI = (token: string) => server.client(FleetService, token).whoAmI({});
const identityOf = async (identity: string) =>
  (await server.admin.listIdentities({})).identities.find((known) => known.identity === identity);

test('an identity of an issuer is listed with its role, scope and last use', async () => {
  await whoAmI(await issuer.token('ci-acme'));
  const known = await until(
    () => identityOf('corp:ci-acme'),
    (found) => found !== undefined,
    20_000,
  );
  expect(known).toMatchObject({ way: 'oidc', issuer: 'corp', role: 'operator', scope: 'customer_id=acme' });
  expect(known?.lastUsedFrom).toBe('127.0.0.1');
  expect(known?.endsAt).toBeUndefined();
});

test('one that is revoked is refused at once, with its streams, until it is restored', async () => {
  const token = await issuer.token('ci-ops');
  await whoAmI(token);
  const stream = server.client(FleetService, token).watchEvents({});
  const broken = refusal(stream);
  const ended = await server.admin.revokeIdentity({ identity: 'corp:ci-ops', reason: 'left the team' });
  expect(ended).toMatchObject({ endedBy: 'admin:admin', endReason: 'left the team' });
  expect(await refusal(whoAmI(token))).toMatchObject({
    code: 'UNAUTHENTICATED',
    message: 'the access of corp:ci-ops was revoked; ask an admin to restore it',
  });
  expect((await broken).code).toBe('UNAUTHENTICATED');
  await server.admin.restoreIdentity({ identity: 'corp:ci-ops', reason: 'came back' });
  expect(await whoAmI(token)).toMatchObject({ name: 'corp:ci-ops' });
  expect(await refusal(server.admin.restoreIdentity({ identity: 'corp:ci-ops' }))).toMatchObject({
    code: 'NOT_FOUND',
    reason: 'IDENTITY_NOT_REVOKED',
  });
});

test('an end in the future ends the access then, and one that never came can be revoked', async () => {
  const token = await issuer.token('ci-ops');
  const at = { seconds: BigInt(Math.floor(Date.now() / 1000) + 2), nanos: 0 };
  await server.admin.revokeIdentity({ identity: 'corp:ci-ops', reason: 'last day', at });
  expect(await whoAmI(token)).toMatchObject({ name: 'corp:ci-ops' });
  await until(
    () =>
      whoAmI(token).then(
        () => 'in',
        () => 'refused',
      ),
    (answer) => answer === 'refused',
  );
  await server.admin.revokeIdentity({ identity: 'corp:ci-admin', reason: 'never starts' });
  expect((await refusal(whoAmI(await issuer.token('ci-admin')))).code).toBe('UNAUTHENTICATED');
  expect(await identityOf('corp:ci-admin')).toMatchObject({ way: '', endReason: 'never starts' });
});

test('what is no identity, or the past, is refused with its field', async () => {
  for (const [request, field] of [
    [{ identity: '', reason: 'x' }, 'identity'],
    [{ identity: 'maria', reason: 'x' }, 'identity'],
    [{ identity: 'corp:x', reason: ' ' }, 'reason'],
    [{ identity: 'corp:x', reason: 'x', at: { seconds: 1n, nanos: 0 } }, 'at'],
  ] as const)
    expect(await refusal(server.admin.revokeIdentity(request))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      violations: [expect.objectContaining({ field })],
    });
});
