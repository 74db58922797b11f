// @module-tag extended: bearer.test.ts has the same issuer without TLS.
/** An issuer as a company has one: https with an authority of its own, and a console behind a proxy that ends TLS. */
import { readFileSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { OperationService } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { oidcConfiguration } from '../../src/surfaces/access/oidc/oidc-configuration.ts';
import { sessionsConfiguration } from '../../src/surfaces/access/session-configuration.ts';
import { SERVER_NAMES, type TestAuthority, testAuthority } from '../parts/certificates.ts';
import { AUDIENCE, BRIEF_SECONDS, CONSOLE_SECRET, startIssuer, type TestIssuer } from '../parts/issuer.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { Visitor } from '../parts/visitor.ts';

let authority: TestAuthority;
let issuer: TestIssuer;
let proxy: Server;
let publicUrl: string;
let server: TestServer;

beforeAll(async () => {
  authority = testAuthority();
  const files = authority.issue({ name: 'server', names: SERVER_NAMES, purpose: 'server' });
  const tls = { cert: readFileSync(files.cert), key: readFileSync(files.key), ca: authority.ca };
  issuer = await startIssuer({ tls });
  proxy = createServer(tls, passOn);
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  publicUrl = `https://localhost:${(proxy.address() as AddressInfo).port}`;
  issuer.redirectTo(`${publicUrl}/auth/callback`);
  writeFileSync(join(authority.dir, 'secret'), CONSOLE_SECRET);
  server = await startTestServer({
    configuration: {
      oidc: trusting({ ca_file: authority.caFile }),
      sessions: sessionsConfiguration.parse({ public_url: publicUrl }),
    },
  });
});
afterAll(async () => {
  await server?.stop();
  proxy?.close();
  proxy?.closeAllConnections();
  await issuer?.stop();
  authority?.remove();
});

/** A proxy that names the server by its own address, as many do: neither Host nor the scheme are the browser's. */
function passOn(...[request, response]: Parameters<Parameters<typeof createServer>[1] & object>): void {
  const headers = { ...request.headers, host: new URL(server.httpUrl).host };
  const onward = httpRequest(
    `${server.httpUrl}${request.url}`,
    { method: request.method, headers },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    },
  );
  onward.on('error', () => response.destroy());
  request.pipe(onward);
}

function trusting(change: object) {
  return oidcConfiguration.parse([
    {
      name: 'corp',
      issuer: issuer.url,
      audience: AUDIENCE,
      client_id: 'ingot-console',
      client_secret_file: join(authority.dir, 'secret'),
      client_auth: 'client_secret_post',
      clock_skew_seconds: 0,
      mappings: [{ claim: 'groups', value: 'fleet-ops', role: 'operator' }],
      ...change,
    },
  ]);
}

describe('an issuer behind TLS', () => {
  test('is known by ca_file, and its tokens get in', async () => {
    const token = await issuer.token('ci-ops');
    expect(await server.client(FleetService, token).whoAmI({})).toMatchObject({
      name: 'corp:ci-ops',
      role: 'operator',
      via: 'oidc',
    });
  });

  test.each([
    ['without ca_file', () => ({})],
    ['with another authority', () => ({ ca_file: testAuthorityFile() })],
  ])('is not believed %s, and the log says why', async (_what, change) => {
    const strict = await startTestServer({
      database: server.database,
      configuration: { oidc: trusting(change()) },
    });
    try {
      const token = await issuer.token('ci-ops');
      expect(await refusal(strict.client(FleetService, token).whoAmI({}))).toMatchObject({
        code: 'UNAVAILABLE',
        reason: 'ISSUER_UNAVAILABLE',
      });
      expect(strict.logged.join('')).toMatch(/unable to (verify|get local)|self-signed certificate/i);
    } finally {
      await strict.stop();
      other?.remove();
      other = undefined;
    }
  });

  let other: TestAuthority | undefined;
  function testAuthorityFile(): string {
    other = testAuthority();
    return other.caFile;
  }
});

describe('the console behind a proxy that ends TLS', () => {
  const session = (person: Visitor, headers: Record<string, string>) =>
    person.send(`${publicUrl}/auth/session`, { headers });
  const call = async (person: Visitor, headers: Record<string, string>) => {
    const url = `${publicUrl}/baremetal.fleet.v1.FleetService/WhoAmI`;
    const json = { 'content-type': 'application/json', ...headers };
    const answer = await person.send(url, { method: 'POST', body: '{}', headers: json });
    return [answer.status, await answer.json()];
  };

  test('signs in with client_secret_post, and comes back to public_url', async () => {
    const person = new Visitor(authority.ca);
    const page = await person.signInAt(`${publicUrl}/auth/login?issuer=corp&return_to=%2Fmachines`, 'alice');
    expect(page.url).toBe(`${publicUrl}/machines`);
    // The secret is in the body: the issuer takes no request of this client without it.
    expect(issuer.tokenAuthorizations.at(-1)).toBe('');
    const asked = new URL(person.visited.find((url) => url.startsWith(`${issuer.url}/auth?`)) ?? '');
    expect(asked.searchParams.get('redirect_uri')).toBe(`${publicUrl}/auth/callback`);
    expect(person.setCookies).toContainEqual(
      expect.stringMatching(
        /^__Host-ingot_session_[0-9a-f]{8}=[\w-]+; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
      ),
    );

    const sameOrigin = { 'sec-fetch-site': 'same-origin' };
    expect(await (await session(person, sameOrigin)).json()).toMatchObject({ signed_in: true });
    expect(await call(person, sameOrigin)).toMatchObject([200, { name: 'corp:alice', via: 'session' }]);
    // Browsers that do not send Sec-Fetch-Site name the origin, which the server knows by public_url alone.
    expect(await call(person, { origin: publicUrl })).toMatchObject([200, { name: 'corp:alice' }]);
    expect(await call(person, { origin: publicUrl.replace('localhost', 'other.localhost') })).toMatchObject([
      403,
      { code: 'permission_denied' },
    ]);
  });

  test('gets no session with a wrong secret, which no log has', async () => {
    const secret = 'a-secret-of-another-client';
    const file = join(authority.dir, 'wrong-secret');
    writeFileSync(file, secret);
    const right = server;
    server = await startTestServer({
      database: right.database,
      configuration: {
        oidc: trusting({ ca_file: authority.caFile, client_secret_file: file }),
        sessions: sessionsConfiguration.parse({ public_url: publicUrl }),
      },
    });
    try {
      const person = new Visitor(authority.ca);
      const { url } = await person.signInAt(`${publicUrl}/auth/login?issuer=corp`, 'alice');
      expect(url).toBe(`${publicUrl}/?sign_in_failed=rejected`);
      expect(person.setCookies.join()).not.toContain('ingot_session');
      expect(server.logged.join('')).not.toContain(secret);
    } finally {
      await server.stop();
      server = right;
    }
  });
});

test('a watch under a token of the issuer ends when the token expires, although nothing happens', async () => {
  const token = await issuer.token('ci-brief');
  const startedAt = Date.now();
  const overHttp = fetch(`${server.httpUrl}/baremetal.v2.OperationService/WatchOperations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/connect+json' },
    body: connectMessage({}),
  }).then((answer) => answer.text());
  const overGrpc = refusal(server.client(OperationService, token).watchOperations({ sendSynced: true }));
  // One that goes on, so that it is not the server that ends them all.
  const longer = server.client(OperationService, await issuer.token('ci-ops')).watchOperations({});
  expect(await overGrpc).toMatchObject({
    code: 'UNAUTHENTICATED',
    message: expect.stringContaining('expired'),
  });
  expect(await overHttp).toContain('"unauthenticated"');
  expect(Date.now() - startedAt).toBeGreaterThan((BRIEF_SECONDS - 1.5) * 1000);
  const first = longer[Symbol.asyncIterator]()
    .next()
    .then(
      () => 'message',
      () => 'ended',
    );
  await server.client(FleetService, server.adminToken).whoAmI({});
  expect(await Promise.race([first, Promise.resolve('still open')])).toBe('still open');
  longer.cancel();
});

/** A message of a Connect stream: flags, length, JSON. */
function connectMessage(message: object): Uint8Array<ArrayBuffer> {
  const json = Buffer.from(JSON.stringify(message));
  const bytes = new Uint8Array(5 + json.length);
  new DataView(bytes.buffer).setUint32(1, json.length);
  bytes.set(json, 5);
  return bytes;
}
