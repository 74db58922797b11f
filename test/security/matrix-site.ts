/** The site of the matrix: tenants, and callers of every kind, each with a way in of its own. */
import { createHash } from 'node:crypto';
import type { Role } from '../../src/domain/actor.ts';
import { AdminService } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { rolesConfiguration } from '../../src/surfaces/access/access-configuration.ts';
import { oidcConfiguration } from '../../src/surfaces/access/oidc/oidc-configuration.ts';
import { SERVER_NAMES, type TestAuthority, testAuthority } from '../parts/certificates.ts';
import { AUDIENCE, startIssuer, type TestIssuer } from '../parts/issuer.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { bearer, overHttp, type Sender } from './matrix-senders.ts';
import { makeTenant, rest, type Tenant } from './tenants.ts';

/** A role of the configuration, with some methods of each kind. */
export const ROLES = rolesConfiguration.parse({
  'on-call': {
    methods: [
      'MachineService/Get*',
      'OperationService/*',
      'AdminService/CreateToken',
      'GET /api/v1/nodes*',
      'GET /api/v1/machine/list',
    ],
  },
});

export type WayIn = 'token' | 'session' | 'certificate' | 'issuer';

export interface CallerKind {
  readonly name: string;
  readonly way: WayIn;
  readonly sender: Sender;
  /** Null: it has none, so every method is refused. */
  readonly role: string | null;
  /** How, where it is another refusal than UNAUTHENTICATED. */
  readonly refusal?: 'PERMISSION_DENIED';
}

/** Callers of one way in that all have the same scope. */
export interface ScopedCallers {
  readonly way: WayIn;
  readonly tenant: Tenant;
  readonly senders: Readonly<Record<Role, Sender>>;
}

export interface MatrixSite {
  readonly server: TestServer;
  readonly acme: Tenant;
  readonly globex: Tenant;
  readonly callers: readonly CallerKind[];
  readonly scoped: readonly ScopedCallers[];
  stop(): Promise<void>;
}

export const TENANT_ROLES = ['viewer', 'operator', 'admin'] as const satisfies readonly Role[];
/** The tenant whose callers come by each way, with the digit of its addresses. */
const TENANTS = {
  token: ['acme', 1],
  session: ['initech', 3],
  certificate: ['hooli', 4],
  issuer: ['stark', 5],
} as const satisfies Record<WayIn, readonly [string, number]>;

export interface SiteOptions {
  /** Of the ways beside tokens: one role each, or all of them and their scopes. */
  readonly kinds: 'some' | 'all';
}

interface Parts {
  readonly server: TestServer;
  /** With TLS, on the same database. */
  readonly secure: TestServer;
  readonly authority: TestAuthority;
  readonly issuer: TestIssuer;
}

export async function startMatrixSite({ kinds }: SiteOptions): Promise<MatrixSite> {
  const parts = await startParts();
  const { server } = parts;
  const acme = await makeTenant(server, ...TENANTS.token);
  const globex = await makeTenant(server, 'globex', 2);
  for (const tenant of [acme, globex]) await addOwned(server, tenant);
  const ways: readonly WayIn[] = kinds === 'all' ? ['token', 'session', 'certificate', 'issuer'] : ['token'];
  const scoped: ScopedCallers[] = [];
  for (const way of ways) scoped.push(await scopedCallers(parts, way, acme));
  const roles = kinds === 'all' ? TENANT_ROLES : (['operator'] as const);
  return {
    server,
    acme,
    globex,
    scoped,
    callers: [
      ...(await tokenCallers(parts, acme)),
      ...(await otherCallers(parts, roles)),
      ...strangers(parts, await machineOf(server, acme)),
      ...(await strangersOfIssuer(parts)),
    ],
    stop: async () => {
      await parts.secure.stop();
      await server.stop();
      await parts.issuer.stop();
      parts.authority.remove();
    },
  };
}

async function startParts(): Promise<Parts> {
  const issuer = await startIssuer();
  const authority = testAuthority();
  const { cert, key } = authority.issue({ name: 'server', names: SERVER_NAMES, purpose: 'server' });
  const server = await startTestServer({ roles: ROLES, configuration: { oidc: mappingsOf(issuer.url) } });
  const secure = await startTestServer({
    database: server.database,
    roles: ROLES,
    tls: { cert_file: cert, key_file: key, client_ca_file: authority.caFile, caFile: authority.caFile },
    certificates: certificates(),
  });
  return { server, secure, authority, issuer };
}

function scopeOf(way: WayIn): string {
  return `customer_id=${TENANTS[way][0]}`;
}

function mappingsOf(issuer: string) {
  const mappings = TENANT_ROLES.flatMap((role) => [
    { claim: 'groups', value: `fleet-${role}`, role },
    { claim: 'groups', value: `scoped-${role}`, role, scope: scopeOf('issuer') },
  ]);
  return oidcConfiguration.parse([
    { name: 'corp', issuer, audience: AUDIENCE, client_id: 'ingot-console', mappings },
  ]);
}

function certificates() {
  return [
    ...TENANT_ROLES.flatMap((role) => [
      { san: `spiffe://fleet/${role}`, role, scope: '' },
      { san: `spiffe://scoped/${role}`, role, scope: scopeOf('certificate') },
    ]),
    { san: 'spiffe://machine/*', role: 'agent', scope: '' },
  ];
}

/** The rights are the same for every way: `fleet` or `scoped`, and a role. */
async function senderOf(parts: Parts, way: WayIn, rights: string, token: string): Promise<Sender> {
  const { server, secure, authority, issuer } = parts;
  switch (way) {
    case 'token':
      return bearer(server, token);
    case 'session': {
      const headers = { authorization: `Bearer ${token}` };
      const answer = await fetch(`${server.httpUrl}/auth/session`, { method: 'POST', headers });
      return overHttp(server, { cookie: (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '' });
    }
    case 'certificate':
      return certified(secure, authority, `spiffe://${rights}`);
    case 'issuer':
      return bearer(server, await issuer.sign(claimsOf(issuer, [rights.replace('/', '-')])));
  }
}

function certified(secure: TestServer, authority: TestAuthority, san: string): Sender {
  const files = authority.issue({ name: san.replace(/\W+/g, '-'), names: [san], purpose: 'client' });
  return overHttp(secure, { certificate: { ca: authority.ca, files } });
}

function claimsOf({ url }: TestIssuer, groups: readonly string[], aud = AUDIENCE) {
  const iat = Math.floor(Date.now() / 1000);
  return { iss: url, aud, sub: groups.join('-'), groups: [...groups], iat, exp: iat + 3_600 };
}

async function scopedCallers(parts: Parts, way: WayIn, acme: Tenant): Promise<ScopedCallers> {
  const [name, digit] = TENANTS[way];
  const tenant = way === 'token' ? acme : await makeTenant(parts.server, name, digit);
  if (way !== 'token') await addOwned(parts.server, tenant);
  const [viewer, operator, admin] = await Promise.all(
    TENANT_ROLES.map((role) => senderOf(parts, way, `scoped/${role}`, tenant.tokens[role])),
  );
  if (!viewer || !operator || !admin) throw new Error('a role has no caller');
  return { way, tenant, senders: { viewer, operator, admin } };
}

async function newToken({ server }: Parts, role: string): Promise<string> {
  return (await server.admin.createToken({ name: `matrix-${role}`, role })).secret;
}

async function tokenCallers(parts: Parts, acme: Tenant): Promise<CallerKind[]> {
  const { server } = parts;
  const caller = (name: string, token: string, role: string | null): CallerKind => ({
    name,
    way: 'token',
    sender: bearer(server, token),
    role,
  });
  return [
    caller('no token', '', null),
    caller('wrong token', 'ingot_guess', null),
    caller('boot token', await bootToken(server, acme), null),
    caller('viewer', await newToken(parts, 'viewer'), 'viewer'),
    caller('operator', await newToken(parts, 'operator'), 'operator'),
    caller('admin', await newToken(parts, 'admin'), 'admin'),
    caller('custom role', await newToken(parts, 'on-call'), 'on-call'),
  ];
}

async function otherCallers(parts: Parts, roles: readonly Role[]): Promise<CallerKind[]> {
  const callers: CallerKind[] = [];
  for (const way of ['session', 'certificate', 'issuer'] as const)
    for (const role of roles) {
      const token = way === 'session' ? await sessionToken(parts, role) : '';
      const sender = await senderOf(parts, way, `fleet/${role}`, token);
      callers.push({ name: `${way} of ${role}`, way, sender, role });
    }
  return callers;
}

async function sessionToken({ server }: Parts, role: Role): Promise<string> {
  return (await server.admin.createToken({ name: `session-${role}`, role })).secret;
}

interface MachineCredentials {
  readonly machineId: string;
  readonly token: string;
}

async function machineOf(server: TestServer, { pool }: Tenant): Promise<MachineCredentials> {
  const { machine, token } = await server.admin.createMachine({ pool });
  return { machineId: machine?.machineId ?? '', token };
}

function strangers({ server, secure, authority }: Parts, machine: MachineCredentials): CallerKind[] {
  return [
    { name: 'machine token', way: 'token', sender: bearer(server, machine.token), role: null },
    {
      name: 'machine certificate',
      way: 'certificate',
      sender: certified(secure, authority, `spiffe://machine/${machine.machineId}`),
      role: null,
    },
    {
      name: 'certificate without a mapping',
      way: 'certificate',
      sender: certified(secure, authority, 'spiffe://elsewhere/admin'),
      role: null,
    },
    {
      name: 'ended session',
      way: 'session',
      sender: overHttp(server, { cookie: 'ingot_session_00000000=ingot_guess' }),
      role: null,
    },
  ];
}

async function strangersOfIssuer({ server, issuer }: Parts): Promise<CallerKind[]> {
  const elsewhere = await issuer.sign(claimsOf(issuer, ['fleet-admin'], 'urn:elsewhere'));
  const unmapped = await issuer.sign(claimsOf(issuer, ['guests']));
  return [
    { name: 'JWT for another audience', way: 'issuer', sender: bearer(server, elsewhere), role: null },
    {
      name: 'JWT without a mapping',
      way: 'issuer',
      sender: bearer(server, unmapped),
      role: null,
      refusal: 'PERMISSION_DENIED',
    },
  ];
}

/** A plan, a workflow, an image, a spare token and a session that belong to the tenant. */
export async function addOwned(
  server: TestServer,
  { name, scope, tokens, machineId }: Tenant,
): Promise<void> {
  const steps = [{ name: 'boot', kind: { case: 'reboot' as const, value: {} } }];
  await server.client(AdminService, tokens.admin).createPlan({ plan: { planId: `${name}-plan`, steps } });
  await rest(server, tokens.admin, 'POST', '/api/v1/workflows', { name: `${name}-workflow` });
  for (const spare of ['spare', 'turned'])
    await server.admin.createToken({ name: `${name}-${spare}`, role: 'viewer', scope });
  await server.sql(
    `INSERT INTO sessions (session_hash, session_id, token_hash, expires_at)
     SELECT sha256(convert_to($1, 'UTF8')), $1, token_hash, now() + interval '1 hour' FROM tokens WHERE name = $2`,
    [`${name}-turned-session`, `${name}-turned`],
  );
  await server.sql(
    `INSERT INTO images (image_name, sha256, size_bytes, created_by, scope_terms)
     SELECT $1, repeat('0', 64), 1, 'admin:matrix', scope_terms FROM tokens WHERE name = $2`,
    [`${name}-image`, `${name}-viewer`],
  );
  await server.sql(
    `WITH certificate AS (
       INSERT INTO erase_certificates (machine_id, operation_id, issued_at, document, key_id, public_key, signature)
       VALUES ($1, 'op-matrix', now(), '{}', 'none', 'none', 'none')
     )
     INSERT INTO burn_ins (machine_id, operation_id, key, tests, seconds, state, ordered_at)
     VALUES ($1, 'op-matrix', 'matrix', '{cpu}', 60, 'passed', now())`,
    [machineId],
  );
}

async function bootToken(server: TestServer, { machineId }: Tenant): Promise<string> {
  const token = 'matrix-boot-token';
  await server.sql(
    `INSERT INTO boot_tokens (token_hash, machine_id, boot_no, image, expires_at)
     VALUES ($1, $2, 1, '', now() + interval '1 hour')`,
    [createHash('sha256').update(token).digest(), machineId],
  );
  return token;
}
