/**
 * The calls of agents: requests, answers, status codes and error codes as agents in the field rely on them
 * (docs/agents.md). The token in the header, or else the client certificate, decides which machine calls.
 */
import { Readable } from 'node:stream';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Caller, mayCall } from '../../domain/access/caller.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { AgentCalls } from '../../operations/agents/agent-calls.ts';
import { isBody, readRegistration } from '../../operations/agents/agent-input.ts';
import type { AgentBearer } from '../../store/agents/agents.ts';
import type { KeepaliveStore } from '../../store/agents/keepalive-store.ts';
import { poolExists } from '../../store/agents/pools.ts';
import { type ListedAgent, type ReadyRequest, readReadyAgents } from '../../store/agents/ready-agents.ts';
import { offerAgentToken } from '../../store/agents/rotate-agent-token.ts';
import type { Database } from '../../store/database/database.ts';
import { DatabaseAway } from '../../store/database/database-away.ts';
import { hashToken, newSecret } from '../../store/tokens.ts';
import type { Authenticator } from '../access/authenticator.ts';
import { credentialsOfRequest } from '../access/credentials.ts';
import { routeName } from '../access/known-methods.ts';
import type { MachineCertificates } from '../access/machine-certificates.ts';
import type { OpenStreams } from '../access/open-streams.ts';
import { badBodyText } from '../bad-body.ts';
import { retryHeaders } from '../fault-wire.ts';
import type { RequestLimits } from '../limits/request-limits.ts';
import type { MachineTokens } from '../machine-tokens.ts';
import { AGENT_ERRORS } from './agent-errors.ts';
import {
  type AgentRefusal,
  type FailedCall,
  invalidPayload,
  isInvalid,
  REVOKED_TOKEN,
  reasonOf,
  refusalBody,
  retryAfterOf,
  unexpected,
} from './agent-refusals.ts';
import { AGENT_ROUTES } from './api/agent-api.ts';
import type { RestRoute } from './api/route.ts';
import { endWithCaller } from './end-with-caller.ts';
import {
  answerKeepalive,
  isSameEntry,
  type KeepaliveAnswer,
  type KeepaliveDependencies,
} from './keepalives/answer-keepalive.ts';
import { takeRefusedToken } from './keepalives/refused-tokens.ts';
import { textOf } from './query.ts';
import { noteReason } from './refused-requests.ts';
import type { RestDependencies } from './rest-errors.ts';
import { type Gate, type RouteHandlers, serveRoutes } from './serve-routes.ts';

export interface AgentRouteDependencies extends KeepaliveDependencies {
  readonly database: Database;
  readonly keepalives: KeepaliveStore;
  readonly calls: AgentCalls;
  readonly tokens: MachineTokens;
  readonly certificates: MachineCertificates;
  readonly authenticator: Authenticator;
  readonly streams: OpenStreams;
  readonly refusals: RestDependencies['refusals'];
  readonly limits: RequestLimits;
  /** One entry for each registration, accepted or not; never with a token. */
  readonly logRegistration: (entry: Readonly<Record<string, unknown>>) => void;
}

const LIST_PAGE = 1_000;

export async function agentRoutes(app: FastifyInstance, dependencies: AgentRouteDependencies): Promise<void> {
  app.removeContentTypeParser('text/plain');
  app.setErrorHandler((error: FastifyError, request, reply) => {
    if (error instanceof Fault && error.kind === 'resource_exhausted')
      return refuse(reply.headers(retryHeaders(error)), {
        ...AGENT_ERRORS.RATE_LIMITED,
        detail: error.message,
      });
    if (error instanceof Fault && (error.kind === 'permission_denied' || error.kind === 'unauthenticated'))
      return refuse(reply, { ...AGENT_ERRORS.INVALID_TOKEN, detail: error.message });
    const status = error.statusCode ?? 500;
    const isAway = error instanceof DatabaseAway || (error instanceof Fault && error.kind === 'unavailable');
    const refusal =
      status < 500
        ? invalidPayload(badBodyText(error), status)
        : unexpected(
            failedCall(dependencies, request),
            error,
            isAway ? AGENT_ERRORS.UNAVAILABLE : AGENT_ERRORS.INTERNAL,
          );
    return refuse(reply, refusal);
  });
  const owners: Owners = new WeakMap();
  const gate = agentGate(dependencies, owners);
  const handlers: RouteHandlers<typeof AGENT_ROUTES> = {
    register: (call) => register(dependencies, call, ownerOf(owners, call.request)),
    keepalive: (call) => keepAlive(dependencies, call, ownerOf(owners, call.request)),
    rotateToken: (call) => rotateToken(dependencies, call, ownerOf(owners, call.request)),
    config: async ({ request, reply }) => {
      const owner = await findOwner(dependencies, request);
      if (owner === 'revoked') return refuse(reply, REVOKED_TOKEN);
      if (owner) dependencies.limits.countCallOf(`agent ${owner.machineId}`);
      else if (!(await operatorOf(dependencies, request, AGENT_ROUTES.config)))
        return refuse(reply, AGENT_ERRORS.INVALID_TOKEN);
      return { config: null };
    },
    list: async ({ request, reply, query }) => {
      const caller = await operatorOf(dependencies, request, AGENT_ROUTES.list);
      if (!caller) return refuse(reply, AGENT_ERRORS.INVALID_TOKEN);
      const schedulable = textOf(query, 'schedulable');
      if (schedulable !== null && !Object.hasOwn(BOOLEANS, schedulable))
        return refuse(reply, invalidPayload('schedulable: must be true or false'));
      const filter = {
        scope: caller.scope,
        pool: textOf(query, 'pool_name'),
        provider: textOf(query, 'provider_name'),
        schedulable: schedulable === null ? null : BOOLEANS[schedulable as keyof typeof BOOLEANS],
      };
      await endWithCaller(dependencies, { request, reply }, caller);
      return reply.type('application/json').send(Readable.from(listReady(dependencies, filter)));
    },
  };
  serveRoutes(app, AGENT_ROUTES, dependencies, handlers, {
    register: async (request, reply) => {
      const passed = await gate(request, reply);
      if (passed === 'answered') logRegistration(dependencies, reply.statusCode, {});
      return passed;
    },
    keepalive: gate,
    rotateToken: gate,
    // Their handlers count the caller that they find.
    config: async () => 'open',
    list: async () => 'open',
  });
}

async function rotateToken(
  { database }: AgentRouteDependencies,
  { request, reply }: AgentCall,
  owner: AgentBearer,
) {
  if (!isBody(request.body) || request.body.machine_id !== owner.machineId)
    return refuse(reply, AGENT_ERRORS.INVALID_TOKEN);
  const token = newSecret();
  if (!(await offerAgentToken(database, owner, hashToken(token))))
    return refuse(reply, AGENT_ERRORS.INVALID_TOKEN);
  return { token };
}

/** The machine that calls, once it is known. */
type Owners = WeakMap<FastifyRequest, AgentBearer>;

function ownerOf(owners: Owners, request: FastifyRequest): AgentBearer {
  const owner = owners.get(request);
  if (!owner) throw new Error('an agent reached its handler unidentified');
  return owner;
}

/** A token decides, also a wrong one; without it, a certificate that is mapped to a machine. */
async function findOwner(
  { tokens, certificates }: AgentRouteDependencies,
  request: FastifyRequest,
): Promise<AgentBearer | 'revoked' | null> {
  const refused = takeRefusedToken(request.raw);
  if (refused !== undefined) return refused;
  const { authorization, certificate } = credentialsOfRequest(request);
  return authorization === undefined && certificate !== null
    ? certificates.owner(certificate)
    : tokens.owner(authorization);
}

/** Finds the machine, before the body is read. */
function agentGate(dependencies: AgentRouteDependencies, owners: Owners): Gate {
  const { limits } = dependencies;
  return async (request, reply) => {
    const { authorization } = request.headers;
    const owner = await findOwner(dependencies, request);
    if (owner === 'revoked') {
      refuse(reply, REVOKED_TOKEN);
      return 'answered';
    }
    if (!owner) {
      if (authorization === undefined) limits.countAddress(request.ip ?? '');
      else limits.countFailedLogin({ address: request.ip ?? '', credential: authorization });
      refuse(reply, AGENT_ERRORS.INVALID_TOKEN);
      return 'answered';
    }
    limits.countCallOf(`agent ${owner.machineId}`);
    owners.set(request, owner);
    return 'open';
  };
}

function logRegistration(dependencies: AgentRouteDependencies, status: number, seen: SeenRegistration): void {
  const { method, path } = AGENT_ROUTES.register;
  dependencies.logRegistration({ method, path, status, ...seen });
}

interface AgentCall {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

async function register(
  dependencies: AgentRouteDependencies,
  { request, reply }: AgentCall,
  owner: AgentBearer,
) {
  const seen: SeenRegistration = {};
  const refusal = await registered(dependencies, { request, owner }, seen).catch((error: unknown) =>
    isInvalid(error)
      ? invalidPayload(error.message)
      : unexpected(failedCall(dependencies, request), error, AGENT_ERRORS.REGISTRATION_FAILED),
  );
  logRegistration(dependencies, refusal?.status ?? 200, seen);
  if (refusal) return refuse(withRetryAfter(reply, refusal), refusal);
  return {
    config: null,
    machine_state: {
      machine_id: seen.machine_id,
      status: 'registered',
      pool_name: seen.pool_name,
      ttl_seconds: dependencies.ttls.keepaliveSeconds,
    },
  };
}

/** What the log says of a registration, as far as it was read. */
interface SeenRegistration {
  machine_id?: string;
  pool_name?: string;
  hostname?: string;
}

/** Null: it is registered. */
async function registered(
  { calls, database }: AgentRouteDependencies,
  { request, owner }: { readonly request: FastifyRequest; readonly owner: AgentBearer },
  seen: SeenRegistration,
): Promise<AgentRefusal | null> {
  if (!isBody(request.body)) return invalidPayload('the body must be a JSON object');
  const proof = request.headers.authorization === undefined ? 'certificate' : 'token';
  const registration = readRegistration(request.body, proof);
  seen.machine_id = registration.machineId;
  seen.pool_name = registration.poolName;
  seen.hostname = registration.facts.hostname;
  if (registration.machineId !== owner.machineId) return AGENT_ERRORS.INVALID_TOKEN;
  if (!isSameEntry(registration, owner)) {
    const isKnown = await poolExists(database, registration.poolName, null);
    return isKnown ? AGENT_ERRORS.INVALID_TOKEN : AGENT_ERRORS.INVALID_POOL;
  }
  return (await calls.register(registration, owner.tokenHash)) ? null : AGENT_ERRORS.INVALID_TOKEN;
}

async function keepAlive(
  dependencies: AgentRouteDependencies,
  { request, reply }: AgentCall,
  owner: AgentBearer,
) {
  const { body, headers, id } = request;
  const call = { owner, body, hasToken: headers.authorization !== undefined, requestId: () => id };
  const answer = await new Promise<KeepaliveAnswer>((resolve) =>
    answerKeepalive(dependencies, call, resolve),
  );
  // The body and not the reply: fastify would wait for a reply to be sent, and it is sent already.
  if (answer.refusal === null) return answer.body;
  return refuse(withRetryAfter(reply, answer.refusal), answer.refusal);
}

function refuse(reply: FastifyReply, refusal: AgentRefusal): FastifyReply {
  const reason = reasonOf(refusal);
  if (reason !== null) noteReason(reply.request, reason);
  return reply.code(refusal.status).send(refusalBody(refusal));
}

function failedCall({ logUnexpected }: AgentRouteDependencies, request: FastifyRequest): FailedCall {
  return { requestId: request.id, path: request.routeOptions.url ?? '', logUnexpected };
}

const BOOLEANS = { true: true, false: false } as const;

function withRetryAfter(reply: FastifyReply, refusal: AgentRefusal): FastifyReply {
  const seconds = retryAfterOf(refusal);
  return seconds === null ? reply : reply.header('retry-after', seconds);
}

/** The operator who calls, of any built-in role, or of one that has the route. Null: the token is a machine's, or none. */
async function operatorOf(
  { authenticator, limits }: AgentRouteDependencies,
  request: FastifyRequest,
  route: RestRoute,
): Promise<Caller | null> {
  try {
    const caller = await authenticator.caller(credentialsOfRequest(request));
    limits.countCall(caller);
    return mayCall(caller, routeName(route), 'viewer') ? caller : null;
  } catch (error) {
    if (error instanceof Fault && error.kind === 'unauthenticated') return null;
    throw error;
  }
}

/** A page of the database at a time, so that a large fleet is never in memory as a whole. */
async function* listReady(
  { database, keepalives }: AgentRouteDependencies,
  filter: Pick<ReadyRequest, 'scope' | 'pool' | 'provider' | 'schedulable'>,
): AsyncGenerator<string> {
  let after: string | null = '';
  let separator = '[';
  while (after !== null) {
    const page: Awaited<ReturnType<typeof readReadyAgents>> = await readReadyAgents(database, keepalives, {
      ...filter,
      after,
      limit: LIST_PAGE,
    });
    let text = '';
    for (const agent of page.agents) {
      text += separator + JSON.stringify(listed(agent));
      separator = ',';
    }
    if (text !== '') yield text;
    after = page.last;
  }
  yield separator === '[' ? '[]' : ']';
}

/** An entry of the list: the state of the agent, and whether work may be placed on the machine. */
function listed(agent: ListedAgent) {
  const { facts, vitals, offer } = agent;
  const { lastKeepaliveAt } = vitals;
  return {
    state: {
      machine_id: agent.machineId,
      provider_name: agent.providerName,
      pool_name: agent.poolName,
      status: 'ready',
      schedulable: offer.schedulable,
      unschedulable_reason: offer.reason ?? '',
      unschedulable_message: offer.message,
      hostname: facts?.hostname ?? '',
      cpu: facts?.cpuMillicores ?? 0,
      memory: Math.floor((facts?.memoryBytes ?? 0) / 2 ** 20),
      gpu_count: facts?.gpuCount ?? 0,
      gpus: facts?.gpus ?? [],
      private_ip: facts?.privateIp ?? '',
      agent_version: vitals.agentVersion,
      last_keepalive: lastKeepaliveAt === null ? '' : String(Math.floor(lastKeepaliveAt.getTime() / 1000)),
    },
    metrics: vitals.metrics,
  };
}
