/**
 * Every method and REST route × every kind of caller × the own and the foreign scope, from the descriptors and the tables of
 * routes. A row has what is expected, and what the server did.
 */
import { createHash } from 'node:crypto';
import type { DescService } from '@bufbuild/protobuf';
import { grantOf, mayCall } from '../../src/domain/access/caller.ts';
import type { Role } from '../../src/domain/actor.ts';
import { rolesConfiguration } from '../../src/surfaces/access/access-configuration.ts';
import { methodName, operatorRoutes, SERVICES } from '../../src/surfaces/access/known-methods.ts';
import { REST_API } from '../../src/surfaces/rest/api/rest-api.ts';
import type { RestRoute } from '../../src/surfaces/rest/api/route.ts';
import { CallError, startTestServer, type TestServer } from '../parts/server.ts';
import { CALLS, type Outside, ROUTES } from './matrix-requests.ts';
import { makeTenant, rest, type Tenant } from './tenants.ts';

export interface MatrixRow {
  readonly method: string;
  readonly caller: string;
  readonly target: 'none' | 'own' | 'foreign';
  readonly expected: string;
  readonly actual: string;
}

/** A role of the configuration, with some methods of each kind. */
const CUSTOM_ROLE = {
  'on-call': {
    methods: [
      'MachineService/Get*',
      'OperationService/*',
      'AdminService/CreateToken',
      'GET /api/v1/nodes*',
      'GET /api/v1/machine/list',
    ],
  },
};
const ROLES = rolesConfiguration.parse(CUSTOM_ROLE);

interface CallerKind {
  readonly name: string;
  readonly token: string;
  /** Null: it has none, so every method is refused. */
  readonly role: string | null;
}

export interface MatrixSite {
  readonly server: TestServer;
  readonly acme: Tenant;
  readonly globex: Tenant;
  readonly callers: readonly CallerKind[];
  stop(): Promise<void>;
}

export async function startMatrixSite(): Promise<MatrixSite> {
  const server = await startTestServer({ roles: ROLES });
  const acme = await makeTenant(server, 'acme', 1);
  const globex = await makeTenant(server, 'globex', 2);
  for (const tenant of [acme, globex]) await addOwned(server, tenant);
  const token = async (role: string) =>
    (await server.admin.createToken({ name: `matrix-${role}`, role })).secret;
  const { token: machineToken } = await server.admin.createMachine({ pool: acme.pool });
  return {
    server,
    acme,
    globex,
    callers: [
      { name: 'no token', token: '', role: null },
      { name: 'wrong token', token: 'ingot_guess', role: null },
      { name: 'machine token', token: machineToken, role: null },
      { name: 'boot token', token: await bootToken(server, acme), role: null },
      { name: 'viewer', token: await token('viewer'), role: 'viewer' },
      { name: 'operator', token: await token('operator'), role: 'operator' },
      { name: 'admin', token: await token('admin'), role: 'admin' },
      { name: 'custom role', token: await token('on-call'), role: 'on-call' },
    ],
    stop: () => server.stop(),
  };
}

/** A plan, a workflow, an image and a spare token that belong to the tenant. */
async function addOwned(server: TestServer, { name, scope, tokens }: Tenant): Promise<void> {
  const steps = [{ name: 'boot', kind: { case: 'reboot' as const, value: {} } }];
  const { AdminService } = await import('../../src/gen/baremetal/admin/v1/admin_service_pb.ts');
  await server.client(AdminService, tokens.admin).createPlan({ plan: { planId: `${name}-plan`, steps } });
  await rest(server, tokens.admin, 'POST', '/api/v1/workflows', { name: `${name}-workflow` });
  for (const spare of ['spare', 'turned'])
    await server.admin.createToken({ name: `${name}-${spare}`, role: 'viewer', scope });
  await server.sql(
    `INSERT INTO images (image_name, sha256, size_bytes, created_by, scope_terms)
     SELECT $1, repeat('0', 64), 1, 'admin:matrix', scope_terms FROM tokens WHERE name = $2`,
    [`${name}-image`, `${name}-viewer`],
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

export interface MatrixMethod {
  readonly name: string;
  readonly needed: Role;
  readonly call: (site: MatrixSite, token: string, tenant: Tenant | null) => Promise<Verdict>;
  readonly outside: Outside;
}

interface Verdict {
  /** `let in`, or why it is refused. */
  readonly outcome: string;
  /** Everything that the caller received. */
  readonly text: string;
}

/** `roles`: the role that each method of each service needs, by the name of the service. */
export function matrixMethods(roles: ReadonlyMap<string, Readonly<Record<string, Role>>>): MatrixMethod[] {
  const calls = SERVICES.flatMap((service) =>
    service.methods.map(({ localName }) =>
      rpcMethod(service, localName, roles.get(service.typeName)?.[localName]),
    ),
  );
  return [...calls, ...operatorRoutes().map(({ name, needed }) => routeMethod(name, needed))];
}

function rpcMethod(service: DescService, localName: string, needed: Role | undefined): MatrixMethod {
  const name = methodName(service, localName);
  const call = CALLS[name];
  if (!call || !needed)
    throw new Error(`${name} is not in the matrix: add it to test/security/matrix-requests.ts`);
  return {
    name,
    needed,
    outside: call.outside,
    call: async ({ server }, token, tenant) => {
      const client = server.client(service, token === '' ? undefined : token) as Record<
        string,
        (request: object) => Promise<unknown> | AsyncIterable<unknown>
      >;
      try {
        const watches = /^watch/.test(localName) ? { sendSynced: true } : {};
        const answer = client[localName]?.(tenant ? call.request(tenant) : watches);
        const received =
          answer instanceof Promise ? await answer : await first(answer as AsyncIterable<unknown>);
        return { outcome: 'let in', text: textOf(received) };
      } catch (error) {
        if (!(error instanceof CallError)) throw error;
        return {
          outcome: refusalOf(error.code, error.reason),
          text: textOf({ ...error, message: error.message }),
        };
      }
    },
  };
}

async function first(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const messages: unknown[] = [];
  for await (const message of stream) {
    messages.push(message);
    break;
  }
  return messages;
}

function routeMethod(name: string, needed: Role): MatrixMethod {
  const route = ROUTES[name];
  if (!route) throw new Error(`${name} is not in the matrix: add it to test/security/matrix-requests.ts`);
  const [method = ''] = name.split(' ');
  return {
    name,
    needed,
    outside: route.outside,
    call: async ({ server, acme }, token, tenant) => {
      // Without a tenant nothing is to happen: an empty body is refused once the caller was let in.
      const body = tenant ? route.body?.(tenant) : route.body && {};
      const path =
        tenant || method === 'GET'
          ? route.path(tenant ?? acme)
          : route.path({ ...acme, machineId: 'none', name: 'none' });
      const { status, text, body: answer } = await rest(server, token, method, path, body);
      const reason: string = answer?.reason ?? answer?.error_code ?? '';
      return { outcome: restOutcome(status, reason), text };
    },
  };
}

/** Of the answers 404, one says that what the path names does not exist; others, that it has no content yet. */
function restOutcome(status: number, reason: string): string {
  if (status === 401 || status === 403) return refusalOf(String(status), reason);
  return status === 404 && reason.endsWith('NOT_FOUND') ? 'NOT_FOUND' : 'let in';
}

/** The refusal of a role and that of a scope have the same code, and different reasons. */
function refusalOf(code: string, reason: string): string {
  if (reason === 'OUT_OF_SCOPE') return 'OUT_OF_SCOPE';
  if (code === '401' || code === 'UNAUTHENTICATED' || reason === 'INVALID_TOKEN') return 'UNAUTHENTICATED';
  if (code === '403' || code === 'PERMISSION_DENIED') return 'PERMISSION_DENIED';
  return code === 'NOT_FOUND' ? 'NOT_FOUND' : 'let in';
}

function textOf(message: unknown): string {
  return JSON.stringify(message, (_key, value) => (typeof value === 'bigint' ? String(value) : value)) ?? '';
}

/** A caller with a role is let in, whatever then becomes of its request; NOT_FOUND is past authorization too. */
export function roleRows(site: MatrixSite, methods: readonly MatrixMethod[]): Promise<MatrixRow[]> {
  const row = async (method: MatrixMethod, { name, token, role }: CallerKind): Promise<MatrixRow> => {
    const { outcome } = await method.call(site, token, null);
    const actual = outcome === 'NOT_FOUND' || outcome === 'OUT_OF_SCOPE' ? 'let in' : outcome;
    const expected = expectedFor(method, name, role);
    return { method: method.name, caller: name, target: 'none', expected, actual };
  };
  return severalAtOnce(methods, (method) => Promise.all(site.callers.map((caller) => row(method, caller))));
}

/** Calls that wait for each other one by one would take a minute. */
async function severalAtOnce(
  methods: readonly MatrixMethod[],
  rowsOf: (method: MatrixMethod) => Promise<MatrixRow[]>,
): Promise<MatrixRow[]> {
  const rows: MatrixRow[] = [];
  const waiting = [...methods];
  const worker = async () => {
    for (let method = waiting.shift(); method; method = waiting.shift()) rows.push(...(await rowsOf(method)));
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  return rows;
}

/** Routes whose callers are agents or boots too. */
const ALSO_FOR: Readonly<Record<string, readonly string[]>> = {
  'GET /api/v1/machine/config': ['machine token'],
};
/** Agents in the field know one refusal, 403. */
const KNOWS_ONE_REFUSAL = ['GET /api/v1/machine/config', 'GET /api/v1/machine/list'];

function expectedFor({ name, needed }: MatrixMethod, caller: string, role: string | null): string {
  if (ALSO_FOR[name]?.includes(caller)) return 'let in';
  const refused = KNOWS_ONE_REFUSAL.includes(name) ? 'PERMISSION_DENIED' : 'UNAUTHENTICATED';
  if (role === null) return refused;
  if (mayCall(grantOf(ROLES, { role, scope: null }), name, needed)) return 'let in';
  return 'PERMISSION_DENIED';
}

const OUTSIDE: Readonly<Record<Outside, string>> = {
  'not-found': 'NOT_FOUND, clean',
  clean: 'let in, clean',
  refused: 'OUT_OF_SCOPE, clean',
};

/** A tenant's tokens of every role, with what the other tenant has and with its own. Foreign things first: they must not change. */
export async function scopeRows(site: MatrixSite, methods: readonly MatrixMethod[]): Promise<MatrixRow[]> {
  const foreign = await severalAtOnce(methods, (method) =>
    Promise.all(TENANT_ROLES.map((role) => scopeRow(site, method, role, 'foreign'))),
  );
  const own = await severalAtOnce(methods, (method) =>
    Promise.all(TENANT_ROLES.map((role) => scopeRow(site, method, role, 'own'))),
  );
  return [...foreign, ...own];
}

const TENANT_ROLES = ['viewer', 'operator', 'admin'] as const satisfies readonly Role[];

async function scopeRow(
  site: MatrixSite,
  method: MatrixMethod,
  role: Role,
  target: 'own' | 'foreign',
): Promise<MatrixRow> {
  const { acme, globex } = site;
  const { outcome, text } = await method.call(site, acme.tokens[role], target === 'own' ? acme : globex);
  const received = target === 'own' ? text : withoutEcho(text, method, globex);
  const isClean = !wordsOf(globex).test(received);
  const expected = target === 'foreign' ? OUTSIDE[method.outside] : expectedOwn(method);
  const may = mayCall(grantOf(ROLES, { role, scope: null }), method.name, method.needed);
  return {
    method: method.name,
    caller: `scoped ${role}`,
    target,
    expected: may ? expected : 'PERMISSION_DENIED, clean',
    actual: `${outcome}, ${isClean ? 'clean' : 'LEAKS'}`,
  };
}

/** What concerns the whole fleet is refused to a tenant's admin whatever it names. */
const WHOLE_FLEET: readonly string[] = [
  'baremetal.admin.v1.AdminService/ExportAudit',
  'baremetal.admin.v1.AdminService/GetAuditKey',
  'GET /api/v1/images/:name/upload',
  'PUT /api/v1/images/:name/content',
  'DELETE /api/v1/images/:name',
];

function expectedOwn({ name }: MatrixMethod): string {
  return WHOLE_FLEET.includes(name) ? 'OUT_OF_SCOPE, clean' : 'let in, clean';
}

function wordsOf({ name, mac, operationId }: Tenant): RegExp {
  return new RegExp([name, mac, operationId, operationId.replace(/^op-/, 'run-')].join('|'));
}

/** A refusal repeats what the request named. */
function withoutEcho(text: string, { outside }: MatrixMethod, tenant: Tenant): string {
  const { machineId, operationId, pool, mac, name } = tenant;
  const runId = operationId.replace(/^op-/, 'run-');
  const echoed = outside === 'clean' ? [machineId] : [machineId, operationId, runId, pool, mac];
  const plain = echoed.reduce((rest_, word) => rest_.replaceAll(word, ''), text);
  return outside === 'clean'
    ? plain
    : plain.replace(new RegExp(`${name}-(plan|workflow|image|spare|turned|viewer|matrix-\\d+)`, 'g'), '');
}

/** The routes that no operator calls: with and without a token, none of them is answered as an operator's would be. */
export function otherRoutes(): RestRoute[] {
  const known = new Set(operatorRoutes().map(({ name }) => name));
  return Object.values(REST_API)
    .flatMap(({ routes }) => Object.values<RestRoute>(routes))
    .filter(({ method, path }) => !known.has(`${method} ${path}`));
}
