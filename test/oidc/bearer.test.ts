import { SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AdminService } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { oidcConfiguration } from '../../src/surfaces/access/oidc/oidc-configuration.ts';
import { fresh } from '../api/fleet.ts';
import { AUDIENCE, startIssuer, type TestIssuer } from '../parts/issuer.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';

let issuer: TestIssuer;
let server: TestServer;
beforeAll(async () => {
  issuer = await startIssuer();
  server = await startTestServer({ configuration: trusting(issuer) });
});
afterAll(async () => {
  await server?.stop();
  await issuer?.stop();
});

function trusting({ url }: TestIssuer) {
  const oidc = oidcConfiguration.parse([
    {
      name: 'corp',
      issuer: url,
      audience: AUDIENCE,
      client_id: 'ingot-console',
      clock_skew_seconds: 30,
      mappings: [
        { claim: 'groups', value: 'fleet-admins', role: 'admin' },
        { claim: 'groups', value: 'fleet-ops', role: 'operator' },
        { claim: 'groups', value: 'acme', role: 'operator', scope: 'customer_id=acme' },
      ],
    },
  ]);
  return { oidc };
}

const whoAmI = (token: string, at = server) => at.client(FleetService, token).whoAmI({});
const refused = (token: string, at = server) => refusal(whoAmI(token, at));
const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;

/** Claims that are accepted as they are. */
const good = () => ({
  iss: issuer.url,
  aud: AUDIENCE,
  sub: 'someone',
  groups: ['fleet-ops'],
  iat: inSeconds(0),
  exp: inSeconds(300),
});

describe('a token of the issuer', () => {
  test('gets in with the role of its group, on gRPC, Connect and REST', async () => {
    const token = await issuer.token('ci-ops');
    expect(await whoAmI(token)).toMatchObject({
      name: 'corp:ci-ops',
      role: 'operator',
      scope: '',
      via: 'oidc',
    });
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const path = `${server.httpUrl}/baremetal.v2.MachineService/ListMachines`;
    expect((await fetch(path, { method: 'POST', headers, body: '{}' })).status).toBe(200);
    expect((await fetch(`${server.httpUrl}/api/v1/nodes`, { headers })).status).toBe(200);
    expect((await refusal(server.client(AdminService, token).listTokens({}))).code).toBe('PERMISSION_DENIED');
  });

  test('has the first mapping that matches', async () => {
    expect(await whoAmI(await issuer.token('ci-admin'))).toMatchObject({ role: 'admin' });
  });

  test('has the scope of its mapping', async () => {
    const own = fresh('acme');
    const other = fresh('other');
    await server.machines.registerMachine({ machine: { machineId: own, spec: { customerId: 'acme' } } });
    await server.machines.registerMachine({ machine: { machineId: other, spec: { customerId: 'zeta' } } });
    const token = await issuer.token('ci-acme');
    expect(await whoAmI(token)).toMatchObject({ scope: 'customer_id=acme' });
    const machines = server.client(MachineService, token);
    expect((await machines.getMachine({ machineId: own })).machineId).toBe(own);
  });

  test('opens nothing where no mapping matches', async () => {
    expect(await refused(await issuer.token('ci-guest'))).toMatchObject({
      code: 'PERMISSION_DENIED',
      reason: 'NO_MAPPED_ROLE',
      message: 'corp:ci-guest has no role here: no mapping of corp matches its claims',
    });
  });

  test('is the actor of what it does', async () => {
    const machineId = fresh('by-oidc');
    const machines = server.client(MachineService, await issuer.token('ci-ops'));
    await machines.registerMachine({ machine: { machineId } });
    const [event] = await server.sql('SELECT actor_id FROM events WHERE machine_id = $1 LIMIT 1', [
      machineId,
    ]);
    expect(event).toEqual({ actor_id: 'corp:ci-ops' });
  });
});

describe('is refused', () => {
  test.each([
    { what: 'for another audience', claims: { aud: 'urn:other' }, says: 'it is not for this server' },
    { what: 'without an audience', claims: { aud: undefined }, says: 'it is not for this server' },
    { what: 'that has expired', claims: { exp: inSeconds(-60) }, says: 'it has expired' },
    { what: 'without an end', claims: { exp: undefined }, says: 'it has no claim exp' },
    { what: 'that is not valid yet', claims: { nbf: inSeconds(60) }, says: 'it is not valid yet' },
    { what: 'without a subject', claims: { sub: undefined }, says: 'it has no claim sub' },
    {
      what: 'of another issuer',
      claims: { iss: 'https://evil.example' },
      says: 'the issuer of the token is not',
    },
    { what: 'with a name to confuse terminals', claims: { sub: 'a\u001b[2J' }, says: 'no usable claim sub' },
  ])('a token $what', async ({ claims, says }) => {
    const given = Object.fromEntries(
      Object.entries({ ...good(), ...claims }).filter(([, value]) => value !== undefined),
    );
    const error = await refused(await issuer.sign(given));
    expect(error.code).toBe('UNAUTHENTICATED');
    expect(error.message).toContain(says);
  });

  test('a token that the clock skew covers is not', async () => {
    await whoAmI(await issuer.sign({ ...good(), exp: inSeconds(-5), sub: 'late' }));
    await whoAmI(await issuer.sign({ ...good(), nbf: inSeconds(5), sub: 'early' }));
  });

  test('a token of another type, such as one for logging out', async () => {
    expect((await refused(await issuer.sign(good(), { typ: 'logout+jwt' }))).message).toContain('logout+jwt');
  });

  test('a token without a signature, or signed with a secret', async () => {
    const unsigned = new UnsecuredJWT(good()).encode();
    expect((await refused(unsigned)).code).toBe('UNAUTHENTICATED');
    const shared = await new SignJWT(good())
      .setProtectedHeader({ alg: 'HS256', kid: 'key-1' })
      .sign(Buffer.from('the public key, as some have done it'));
    expect((await refused(shared)).message).toContain('its algorithm is not accepted');
  });

  test('a token whose content was changed', async () => {
    const [header, , signature] = (await issuer.token('ci-guest')).split('.');
    const payload = Buffer.from(JSON.stringify(good())).toString('base64url');
    expect((await refused(`${header}.${payload}.${signature}`)).message).toContain('its signature is wrong');
  });

  test('a token that is too long', async () => {
    const long = await issuer.sign({
      ...good(),
      groups: Array.from({ length: 900 }, (_, n) => `group-number-${n}`),
    });
    const answer = await fetch(`${server.httpUrl}/api/v1/nodes`, {
      headers: { authorization: `Bearer ${long}` },
    });
    expect([401, 431]).toContain(answer.status);
  });

  test('every JWT where no issuer is configured', async () => {
    const strict = await startTestServer({ database: server.database });
    try {
      expect((await refused(await issuer.token('ci-ops'), strict)).code).toBe('UNAUTHENTICATED');
    } finally {
      await strict.stop();
    }
  });
});

describe('with keys that rotate, and an issuer that is down', () => {
  test('a new key is found at once, and the old one works as long as it is published', async () => {
    const old = await issuer.token('ci-ops');
    await whoAmI(old);
    await issuer.rotate('published');
    expect(await whoAmI(await issuer.token('ci-ops'))).toMatchObject({ name: 'corp:ci-ops' });
    expect(await whoAmI(await issuer.sign({ ...good(), sub: 'again' }))).toMatchObject({
      name: 'corp:again',
    });
    expect(await whoAmI(old)).toMatchObject({ name: 'corp:ci-ops' });
  });

  test('a withdrawn key no longer works once the new keys are read', { tags: ['extended'] }, async () => {
    const old = await issuer.sign({ ...good(), sub: 'withdrawn' });
    await issuer.rotate('withdrawn');
    await whoAmI(await issuer.token('ci-ops'));
    expect((await refused(old)).code).toBe('UNAUTHENTICATED');
  });

  test('while it is down, known keys work; an unknown one is UNAVAILABLE, not wrong', async () => {
    const known = await issuer.token('ci-ops');
    await whoAmI(known);
    const alsoKnown = await issuer.sign({ ...good(), sub: 'never-seen' });
    await issuer.goDown();
    expect(await whoAmI(known)).toMatchObject({ role: 'operator' });
    expect(await whoAmI(alsoKnown)).toMatchObject({ name: 'corp:never-seen' });
    await issuer.rotate('published');
    const unknown = await issuer.sign({ ...good(), sub: 'new-key' });
    expect(await refused(unknown)).toMatchObject({ code: 'UNAVAILABLE', reason: 'ISSUER_UNAVAILABLE' });
    await issuer.comeBack();
    expect(await whoAmI(unknown)).toMatchObject({ name: 'corp:new-key' });
  });

  test('a server starts without it, and lets its tokens in as soon as it is there', {
    tags: ['extended'],
  }, async () => {
    const token = await issuer.token('ci-ops');
    await issuer.goDown();
    const early = await startTestServer({ database: server.database, configuration: trusting(issuer) });
    try {
      expect((await fetch(`${early.httpUrl}/readyz`)).status).toBe(200);
      expect(await refused(token, early)).toMatchObject({
        code: 'UNAVAILABLE',
        reason: 'ISSUER_UNAVAILABLE',
      });
      expect(await early.client(FleetService, early.adminToken).whoAmI({})).toMatchObject({ role: 'admin' });
      await issuer.comeBack();
      expect(await whoAmI(token, early)).toMatchObject({ name: 'corp:ci-ops' });
    } finally {
      await early.stop();
    }
  });

  test('made-up keys do not make it read the keys each time', { tags: ['extended'] }, async () => {
    const before = issuer.keyReads;
    for (let n = 0; n < 50; n += 1) {
      const error = await refused(await issuer.sign(good(), { kid: `made-up-${n}` }));
      expect(['UNAUTHENTICATED', 'RESOURCE_EXHAUSTED']).toContain(error.code);
    }
    expect(issuer.keyReads - before).toBeLessThan(20);
  });
});

test('no token is in the log or in the history', async () => {
  const token = await issuer.token('ci-ops');
  await whoAmI(token);
  const signature = token.split('.')[2] as string;
  expect(server.logged.join('')).not.toContain(signature);
  expect(JSON.stringify(await server.sql('SELECT * FROM events'))).not.toContain(signature);
});
