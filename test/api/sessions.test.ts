import type { IncomingHttpHeaders } from 'node:http';
import { request } from 'node:https';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SERVER_NAMES, testAuthority } from '../parts/certificates.ts';
import { cloneDatabase, openPool } from '../parts/postgres.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { fresh } from './fleet.ts';

let server: TestServer;
let replica: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  replica = await startTestServer({ database: server.database });
});
afterAll(async () => {
  await replica?.stop();
  await server?.stop();
});

const LIST = '/baremetal.v2.MachineService/ListMachines';
const WATCH = '/baremetal.fleet.v1.FleetService/WatchEvents';
const NODES = '/api/v1/nodes';

type Headers = Readonly<Record<string, string>>;

async function newToken(role = 'viewer', expiresInMs?: number): Promise<{ name: string; secret: string }> {
  const name = fresh('signs-in');
  const expiresAt = expiresInMs === undefined ? {} : { expiresAt: timestampFromMs(Date.now() + expiresInMs) };
  const { secret } = await server.admin.createToken({ name, role, ...expiresAt });
  return { name, secret };
}

function auth(at: TestServer, method: string, headers: Headers = {}): Promise<Response> {
  return fetch(`${at.httpUrl}/auth/session`, { method, headers });
}

/** Returns the cookie as a browser sends it back. */
async function signIn(secret: string, at = server): Promise<string> {
  const answer = await auth(at, 'POST', { authorization: `Bearer ${secret}` });
  expect(answer.status).toBe(201);
  return (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
}

const own = (cookie: string, at = server): Headers => ({ cookie, origin: at.httpUrl });

function rpc(path: string, headers: Headers, at = server): Promise<Response> {
  return fetch(`${at.httpUrl}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: '{}',
  });
}

describe('a session', () => {
  test('is a cookie for the token, which scripts cannot read and other sites cannot send', async () => {
    const { name, secret } = await newToken('operator');
    const answer = await auth(server, 'POST', { authorization: `Bearer ${secret}` });
    expect(await answer.json()).toEqual({
      signed_in: true,
      name,
      role: 'operator',
      scope: '',
      expires_at: expect.stringMatching(/^20/),
    });
    expect(answer.headers.get('set-cookie')).toMatch(
      /^ingot_session_[0-9a-f]{8}=ingot_[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test('opens RPC and REST as the token does, on every replica', async () => {
    const { name, secret } = await newToken('operator');
    const cookie = await signIn(secret);
    for (const at of [server, replica]) {
      expect((await rpc(LIST, own(cookie, at), at)).status).toBe(200);
      expect((await fetch(`${at.httpUrl}${NODES}`, { headers: { cookie } })).status).toBe(200);
      const shown = await auth(at, 'GET', { cookie });
      expect(await shown.json()).toMatchObject({ signed_in: true, name, role: 'operator' });
    }
    const tooHigh = await rpc('/baremetal.admin.v1.AdminService/ListTokens', own(cookie));
    expect(tooHigh.status).toBe(403);
  });

  test('is stored as a hash', async () => {
    const cookie = await signIn((await newToken()).secret);
    const secret = cookie.slice(cookie.indexOf('=') + 1);
    const rows = await server.sql<{ row: string; hash: Buffer }>(
      'SELECT sessions::text AS row, session_hash AS hash FROM sessions',
    );
    expect(rows.length).toBeGreaterThan(0);
    for (const { row, hash } of rows) {
      expect(hash).toHaveLength(32);
      for (const text of [secret, secret.slice('ingot_'.length), Buffer.from(secret).toString('hex')])
        expect(row).not.toContain(text);
    }
    expect(server.logged.join('')).not.toContain(secret);
    expect(JSON.stringify(await server.sql('SELECT * FROM events'))).not.toContain(secret);
  });

  test('does not start with a wrong token, a cookie, or nothing', async () => {
    const cookie = await signIn((await newToken()).secret);
    for (const headers of [{}, { authorization: 'Bearer nonsense' }, own(cookie)]) {
      const answer = await auth(server, 'POST', headers);
      expect([answer.status, answer.headers.get('set-cookie')]).toEqual([401, null]);
      expect(await answer.json()).toMatchObject({ reason: 'UNAUTHENTICATED' });
    }
  });

  test('does not help a wrong token that comes with it', async () => {
    const cookie = await signIn((await newToken()).secret);
    expect((await rpc(LIST, { ...own(cookie), authorization: 'Bearer nonsense' })).status).toBe(401);
  });
});

describe('a session ends', () => {
  test('when its user signs out, on every replica at once', async () => {
    const { name, secret } = await newToken();
    const cookie = await signIn(secret);
    expect((await rpc(LIST, own(cookie, replica), replica)).status).toBe(200);
    const left = await auth(server, 'DELETE', own(cookie));
    expect(left.status).toBe(204);
    expect(left.headers.get('set-cookie')).toMatch(/^ingot_session_[0-9a-f]{8}=; Path=\/; Max-Age=0; /);
    expect((await rpc(LIST, own(cookie))).status).toBe(401);
    await until(
      () => rpc(LIST, own(cookie, replica), replica),
      ({ status }) => status === 401,
      // Sooner than the cache of a replica that was not notified.
      4_000,
    );
    expect(await (await auth(server, 'GET', { cookie })).json()).toEqual({ signed_in: false });
    const recorded = await server.sql(
      `SELECT to_state, actor_kind, via, address IS NOT NULL AND request_id IS NOT NULL AS has_origin
       FROM events WHERE kind = 'session' AND actor_id = $1 ORDER BY event_id`,
      [name],
    );
    expect(recorded).toEqual([
      { to_state: 'created', actor_kind: 'operator', via: 'token', has_origin: true },
      { to_state: 'ended', actor_kind: 'operator', via: 'session', has_origin: true },
    ]);
    expect(
      (await fetch(`${server.httpUrl}${NODES}`, { headers: { authorization: `Bearer ${secret}` } })).status,
    ).toBe(200);
  });

  test('when its token is revoked, and its streams with it', async () => {
    const { name, secret } = await newToken();
    const cookie = await signIn(secret);
    const stream = await openStream(WATCH, own(cookie));
    const revokedAt = performance.now();
    await server.admin.revokeToken({ name });
    expect((await rpc(LIST, own(cookie))).status).toBe(401);
    expect(await stream.text()).toContain('unauthenticated');
    // Sooner than the next message of an idle stream.
    expect(performance.now() - revokedAt).toBeLessThan(4_000);
  });

  test('when the secret that it was started with is replaced, after the overlap', async () => {
    const { name, secret } = await newToken();
    const cookie = await signIn(secret);
    const overlap = (interval: string) =>
      server.sql(
        `UPDATE tokens SET previous_hash = sha256($2), token_hash = sha256(gen_random_uuid()::text::bytea),
           previous_expires_at = now() + $3::interval WHERE name = $1`,
        [name, Buffer.from(secret), interval],
      );
    await overlap('1 hour');
    expect((await rpc(LIST, own(cookie, replica), replica)).status).toBe(200);
    await overlap('-1 second');
    await until(
      () => rpc(LIST, own(cookie)),
      ({ status }) => status === 401,
    );
  });

  test('when its token expires', async () => {
    const { secret } = await newToken('viewer', 1_500);
    const cookie = await signIn(secret);
    expect((await rpc(LIST, own(cookie))).status).toBe(200);
    await until(
      () => rpc(LIST, own(cookie)),
      ({ status }) => status === 401,
    );
  });
});

describe('with short limits', () => {
  let short: TestServer;
  beforeAll(async () => {
    short = await startTestServer({
      database: server.database,
      configuration: { sessions: { idleSeconds: 2, absoluteSeconds: 5, publicUrl: null } },
    });
  });
  afterAll(() => short?.stop());

  test('a session that is used outlives its idle limit, and not its absolute limit', {
    tags: ['extended'],
  }, async () => {
    const cookie = await signIn((await newToken()).secret, short);
    const startedAt = performance.now();
    await until(
      () => rpc(LIST, own(cookie, short), short),
      ({ status }) => status === 401,
    );
    const livedMs = performance.now() - startedAt;
    expect(livedMs).toBeGreaterThan(2_500);
    expect(livedMs).toBeLessThan(15_000);
  });

  test('what an unattended page fetches does not keep its session alive', async () => {
    const cookie = await signIn((await newToken()).secret, short);
    const startedAt = performance.now();
    await until(
      () => rpc(LIST, { ...own(cookie, short), 'x-ingot-unattended': '1' }, short),
      ({ status }) => status === 401,
    );
    expect(performance.now() - startedAt).toBeLessThan(4_500);
  });

  test('a stream does not keep its session alive, and ends with it', { tags: ['extended'] }, async () => {
    const cookie = await signIn((await newToken()).secret, short);
    const stream = await openStream(WATCH, own(cookie, short), short);
    expect(await stream.text()).toContain('the session has ended');
    const [{ lived } = { lived: 0 }] = await server.sql<{ lived: number }>(
      'SELECT extract(epoch FROM max(used_at) - max(created_at))::float8 AS lived FROM sessions',
    );
    expect(lived).toBeLessThan(2);
  });

  test('every end is an event: by its limits, and with its token', async () => {
    const { name, secret } = await newToken();
    await signIn(secret, short);
    await server.admin.revokeToken({ name });
    const isOfToken = ({ identities }: { identities: string[] }) =>
      identities.some((one) => one.endsWith(`:${name}`));
    const reasons = await until(
      () =>
        server.sql<{ reason: string; identities: string[] }>(
          `SELECT metadata ->> 'reason' AS reason, array_agg(metadata ->> 'identity') AS identities FROM events
           WHERE kind = 'session' AND to_state = 'expired' GROUP BY 1 ORDER BY 1`,
        ),
      (rows) => rows.some(isOfToken),
    );
    expect(reasons.map(({ reason }) => reason)).toEqual(['absolute', 'idle', 'token']);
    expect(reasons.find(isOfToken)?.reason).toBe('token');
    const open = await until(
      () => server.sql('SELECT FROM sessions WHERE ended_at IS NULL AND expires_at < now()'),
      (rows) => rows.length === 0,
    );
    expect(open).toEqual([]);
  });
});

/** The answer of a stream that has started; its text is there when it ends. */
async function openStream(path: string, headers: Headers, at = server): Promise<Response> {
  const message = Buffer.from('{}');
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  const answer = await fetch(`${at.httpUrl}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/connect+json', ...headers },
    body: Buffer.concat([head, message]),
  });
  expect(answer.status).toBe(200);
  return answer;
}

describe('a request that another site makes the browser send', () => {
  const FORGED: readonly { what: string; headers: (at: TestServer) => Headers }[] = [
    { what: 'from another origin', headers: () => ({ origin: 'https://evil.example' }) },
    { what: 'from a sandboxed frame', headers: () => ({ origin: 'null' }) },
    { what: 'from another port of this host', headers: () => ({ origin: 'http://127.0.0.1:1' }) },
    {
      what: 'that is cross-site for the browser',
      headers: (at) => ({ origin: at.httpUrl, 'sec-fetch-site': 'cross-site' }),
    },
    {
      what: 'from a subdomain',
      headers: (at) => ({ origin: at.httpUrl, 'sec-fetch-site': 'same-site' }),
    },
    { what: 'without any evidence', headers: () => ({}) },
  ];

  test.each(FORGED)('$what is refused on RPC, watches and REST', async ({ headers }) => {
    const cookie = await signIn((await newToken('admin')).secret);
    const sent = { cookie, ...headers(server) };
    const name = fresh('forged');
    const unary = await rpc('/baremetal.admin.v1.AdminService/CreateToken', sent);
    expect([unary.status, await unary.text()]).toEqual([403, expect.stringContaining('permission_denied')]);
    expect(await (await openStream(WATCH, sent)).text()).toContain('permission_denied');
    const rest = await fetch(`${server.httpUrl}${NODES}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...sent },
      body: JSON.stringify({ mac_address: '52:54:00:00:77:01', group: name }),
    });
    expect([rest.status, await rest.json()]).toEqual([
      403,
      expect.objectContaining({ reason: 'CROSS_SITE_REQUEST' }),
    ]);
    expect((await auth(server, 'DELETE', sent)).status).toBe(403);
    expect((await rpc(LIST, own(cookie))).status).toBe(200);
  });

  test('may not read either, where the browser says that it is cross-site', async () => {
    const cookie = await signIn((await newToken()).secret);
    const read = (site: string) =>
      fetch(`${server.httpUrl}${NODES}`, { headers: { cookie, 'sec-fetch-site': site } });
    expect((await read('cross-site')).status).toBe(403);
    expect((await read('same-site')).status).toBe(403);
    expect((await read('none')).status).toBe(200);
    expect((await read('same-origin')).status).toBe(200);
  });
});

describe('another deployment on the same host', () => {
  test('has a cookie of another name, and neither takes nor ends the sessions of this one', async () => {
    const database = await cloneDatabase();
    const pool = openPool(database.url);
    await pool.query(`UPDATE deployment SET suffix = '0badcafe'`);
    await pool.end();
    const other = await startTestServer({ database });
    try {
      const cookie = await signIn((await newToken()).secret);
      const bearer = { authorization: `Bearer ${other.adminToken}` };
      const answer = await auth(other, 'POST', { ...bearer, cookie });
      expect(answer.headers.get('set-cookie')).toMatch(/^ingot_session_0badcafe=/);
      const theirs = (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
      // A browser sends both to both.
      const both = `${theirs}; ${cookie}`;
      expect((await rpc(LIST, own(both, other), other)).status).toBe(200);
      expect((await rpc(LIST, own(both))).status).toBe(200);
      expect((await auth(other, 'DELETE', own(both, other))).status).toBe(204);
      expect((await rpc(LIST, own(both, other), other)).status).toBe(401);
      expect((await rpc(LIST, own(both))).status).toBe(200);
    } finally {
      await other.stop();
      await database.drop();
    }
  });
});

describe('under TLS', () => {
  test('the cookie is Secure, and of this host alone', async () => {
    const authority = testAuthority();
    const { cert, key } = authority.issue({ name: 'server', names: SERVER_NAMES, purpose: 'server' });
    const secure = await startTestServer({
      tls: { cert_file: cert, key_file: key, caFile: authority.caFile },
    });
    try {
      const bearer = { authorization: `Bearer ${secure.adminToken}` };
      const started = await secureCall(secure, authority.ca, 'POST', bearer);
      const [set = ''] = started.headers['set-cookie'] ?? [];
      expect([started.status, set]).toEqual([
        201,
        expect.stringMatching(
          /^__Host-ingot_session_[0-9a-f]{8}=[\w-]+; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
        ),
      ]);
      const cookie = set.split(';')[0] ?? '';
      // A cookie without the prefix may have been set by another host of the domain.
      const unprefixed = cookie.replace('__Host-', '');
      const tossed = await secureCall(secure, authority.ca, 'GET', { cookie: unprefixed });
      expect(tossed.text).toBe('{"signed_in":false}');
      const ended = (origin: string) => secureCall(secure, authority.ca, 'DELETE', { cookie, origin });
      expect((await ended('https://evil.example')).status).toBe(403);
      expect((await ended(secure.httpUrl)).status).toBe(204);
    } finally {
      await secure.stop();
      authority.remove();
    }
  });

  function secureCall(at: TestServer, ca: Buffer, method: string, headers: Headers) {
    return new Promise<{ status: number; headers: IncomingHttpHeaders; text: string }>((resolve, reject) => {
      request(`${at.httpUrl}/auth/session`, { method, headers, ca }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (data) => {
          text += data;
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
      })
        .on('error', reject)
        .end();
    });
  }
});
