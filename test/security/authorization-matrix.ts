/**
 * Every method and REST route × every kind of caller × the own and the foreign scope, from the descriptors and the tables of
 * routes. A row has what is expected, and what the server did.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DescService } from '@bufbuild/protobuf';
import { grantOf, mayCall } from '../../src/domain/access/caller.ts';
import type { Role } from '../../src/domain/actor.ts';
import { methodName, operatorRoutes, SERVICES } from '../../src/surfaces/access/known-methods.ts';
import { REST_API } from '../../src/surfaces/rest/api/rest-api.ts';
import type { RestRoute } from '../../src/surfaces/rest/api/route.ts';
import { CALLS, type Outside, ROUTES } from './matrix-requests.ts';
import type { Sender } from './matrix-senders.ts';
import { type CallerKind, type MatrixSite, ROLES, type ScopedCallers, TENANT_ROLES } from './matrix-site.ts';
import type { Tenant } from './tenants.ts';

export interface MatrixRow {
  readonly method: string;
  readonly caller: string;
  readonly target: 'none' | 'own' | 'foreign';
  readonly expected: string;
  readonly actual: string;
}

/** What a request names: nothing, or what a tenant has, as a caller of a tenant. */
type Target = { readonly tenant: Tenant; readonly caller: Tenant } | null;

export interface MatrixMethod {
  readonly name: string;
  readonly needed: Role;
  readonly call: (site: MatrixSite, sender: Sender, target: Target) => Promise<Verdict>;
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
    call: async (_site, sender, target) => {
      const watches = /^watch/.test(localName) ? { sendSynced: true } : {};
      const message = target ? call.request(target.tenant, target.caller) : watches;
      const { code, reason, text } = await sender.rpc(service, localName, message);
      return { outcome: code === '' ? 'let in' : refusalOf(code, reason), text };
    },
  };
}

function routeMethod(name: string, needed: Role): MatrixMethod {
  const route = ROUTES[name];
  if (!route) throw new Error(`${name} is not in the matrix: add it to test/security/matrix-requests.ts`);
  const [method = ''] = name.split(' ');
  return {
    name,
    needed,
    outside: route.outside,
    call: async ({ acme }, sender, target) => {
      const tenant = target?.tenant;
      // Without a tenant nothing is to happen: an empty body is refused once the caller was let in.
      const body = tenant ? route.body?.(tenant) : route.body && {};
      const path =
        tenant || method === 'GET'
          ? route.path(tenant ?? acme)
          : route.path({ ...acme, machineId: 'none', name: 'none' });
      const { status, text, body: answer } = await sender.rest(method, path, body);
      const reason: string = answer?.reason ?? answer?.error_code ?? '';
      return { outcome: restOutcome(status, reason), text };
    },
  };
}

/** Of the answers 404, one says that what the path names does not exist; others, that it has no content yet. */
function restOutcome(status: number, reason: string): string {
  if (status === 401 || status === 403) return refusalOf(String(status), reason);
  if (status === 429 || status === 503) return `not judged: ${status} ${reason}`;
  return status === 404 && reason.endsWith('NOT_FOUND') ? 'NOT_FOUND' : 'let in';
}

/** The server was too busy to say: neither let in nor refused. */
const UNJUDGED: readonly string[] = ['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'RESOURCE_EXHAUSTED'];
/** What the client's library makes of a connection that was closed as it was used again: every refusal of the server has a reason. */
const CUT_OFF: readonly string[] = ['ABORTED', 'CANCELED', 'INTERNAL', 'UNKNOWN'];

/** A busy host may keep a call from being answered, and an idle connection may be closed as it is used again. */
const TRIES = 5;
const BETWEEN_MS = 1_000;

async function verdictOf(call: () => Promise<Verdict>): Promise<Verdict> {
  for (let tries = 1; ; tries += 1) {
    const verdict = await call().catch((error: Error) => ({
      outcome: `not judged: ${error.message}`,
      text: '',
    }));
    if (!verdict.outcome.startsWith('not judged') || tries === TRIES) return verdict;
    await sleep(BETWEEN_MS);
  }
}

/** The refusal of a role and that of a scope have the same code, and different reasons. */
function refusalOf(code: string, reason: string): string {
  if (reason === 'OUT_OF_SCOPE') return 'OUT_OF_SCOPE';
  if (code === '401' || code === 'UNAUTHENTICATED' || reason === 'INVALID_TOKEN') return 'UNAUTHENTICATED';
  if (code === '403' || code === 'PERMISSION_DENIED') return 'PERMISSION_DENIED';
  if (UNJUDGED.includes(code) || (reason === '' && CUT_OFF.includes(code)))
    return `not judged: ${code} ${reason}`;
  return code === 'NOT_FOUND' ? 'NOT_FOUND' : 'let in';
}

/** A caller with a role is let in, whatever then becomes of its request; NOT_FOUND is past authorization too. */
export function roleRows(site: MatrixSite, methods: readonly MatrixMethod[]): Promise<MatrixRow[]> {
  const row = async (method: MatrixMethod, caller: CallerKind): Promise<MatrixRow> => {
    const { outcome } = await verdictOf(() => method.call(site, caller.sender, null));
    const actual = outcome === 'NOT_FOUND' || outcome === 'OUT_OF_SCOPE' ? 'let in' : outcome;
    const expected = expectedFor(method, caller);
    return { method: method.name, caller: caller.name, target: 'none', expected, actual };
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
  'GET /api/v1/machine/config': ['machine token', 'machine certificate'],
};
/** Agents in the field know one refusal, 403. */
const KNOWS_ONE_REFUSAL = ['GET /api/v1/machine/config', 'GET /api/v1/machine/list'];

/** A session starts with a token, and with nothing that a browser sends by itself. */
const BEARER_ONLY = 'POST /auth/session';

function expectedFor(
  { name, needed }: MatrixMethod,
  { name: caller, way, role, refusal }: CallerKind,
): string {
  if (ALSO_FOR[name]?.includes(caller)) return 'let in';
  if (role === null)
    return KNOWS_ONE_REFUSAL.includes(name) ? 'PERMISSION_DENIED' : (refusal ?? 'UNAUTHENTICATED');
  if (name === BEARER_ONLY && (way === 'session' || way === 'certificate')) return 'UNAUTHENTICATED';
  if (mayCall(grantOf(ROLES, { role, scope: null }), name, needed)) return 'let in';
  return 'PERMISSION_DENIED';
}

const OUTSIDE: Readonly<Record<Outside, string>> = {
  'not-found': 'NOT_FOUND, clean',
  clean: 'let in, clean',
  refused: 'OUT_OF_SCOPE, clean',
};

/** The callers of a tenant, with what another tenant has and with their own. Foreign things first: they must not change. */
export async function scopeRows(site: MatrixSite, methods: readonly MatrixMethod[]): Promise<MatrixRow[]> {
  const rows: MatrixRow[] = [];
  for (const target of ['foreign', 'own'] as const)
    for (const callers of site.scoped)
      rows.push(
        ...(await severalAtOnce(methods, (method) =>
          Promise.all(TENANT_ROLES.map((role) => scopeRow(site, method, { ...callers, role }, target))),
        )),
      );
  return rows;
}

async function scopeRow(
  site: MatrixSite,
  method: MatrixMethod,
  { way, tenant: caller, senders, role }: ScopedCallers & { readonly role: Role },
  target: 'own' | 'foreign',
): Promise<MatrixRow> {
  const { globex } = site;
  const tenant = target === 'own' ? caller : globex;
  const { outcome, text } = await verdictOf(() => method.call(site, senders[role], { tenant, caller }));
  const received = target === 'own' ? text : withoutEcho(text, method, globex);
  const isClean = !wordsOf(globex).test(received);
  const may = mayCall(grantOf(ROLES, { role, scope: null }), method.name, method.needed);
  const expected = target === 'foreign' ? OUTSIDE[method.outside] : expectedOwn(method);
  const isRefused = method.name === BEARER_ONLY && (way === 'session' || way === 'certificate');
  return {
    method: method.name,
    caller: `${way} of a scoped ${role}`,
    target,
    expected: isRefused ? 'UNAUTHENTICATED, clean' : may ? expected : 'PERMISSION_DENIED, clean',
    actual: `${outcome}, ${isClean ? 'clean' : 'LEAKS'}`,
  };
}

/** What concerns the whole fleet is refused to a tenant's admin whatever it names. */
const WHOLE_FLEET: readonly string[] = [
  'baremetal.admin.v1.AdminService/ExportAudit',
  'baremetal.admin.v1.AdminService/GetAuditKey',
  'baremetal.admin.v1.AdminService/RotateAuditKey',
  'baremetal.admin.v1.AdminService/RevokeIdentity',
  'baremetal.admin.v1.AdminService/RestoreIdentity',
  'GET /api/v1/images/:name/upload',
  'PUT /api/v1/images/:name/content',
  'DELETE /api/v1/images/:name',
];

function expectedOwn({ name }: MatrixMethod): string {
  return WHOLE_FLEET.includes(name) ? 'OUT_OF_SCOPE, clean' : 'let in, clean';
}

function wordsOf({ name, mac, operationId, rolloutId }: Tenant): RegExp {
  return new RegExp([name, mac, operationId, operationId.replace(/^op-/, 'run-'), rolloutId].join('|'));
}

/** A refusal repeats what the request named. */
function withoutEcho(text: string, { outside }: MatrixMethod, tenant: Tenant): string {
  const { machineId, operationId, rolloutId, pool, mac, name } = tenant;
  const runId = operationId.replace(/^op-/, 'run-');
  const echoed = outside === 'clean' ? [machineId] : [machineId, operationId, runId, rolloutId, pool, mac];
  const plain = echoed.reduce((rest_, word) => rest_.replaceAll(word, ''), text);
  return outside === 'clean'
    ? plain
    : plain.replace(
        new RegExp(`${name}-(plan|workflow|image|budget|hardware|spare|turned|viewer|matrix-\\d+)`, 'g'),
        '',
      );
}

/** The routes that no operator calls: with and without a token, none of them is answered as an operator's would be. */
export function otherRoutes(): RestRoute[] {
  const known = new Set(operatorRoutes().map(({ name }) => name));
  return Object.values(REST_API)
    .flatMap(({ routes }) => Object.values<RestRoute>(routes))
    .filter(({ method, path }) => !known.has(`${method} ${path}`));
}
