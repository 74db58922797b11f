/**
 * The calls of agents: document 5's requests, answers, status codes and error codes, as agents in the field rely on
 * them. The token in the header decides who calls.
 */
import { Readable } from 'node:stream';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AgentAddress, PresenceTtls } from '../../domain/agent/agent.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { AgentCalls } from '../../operations/agents/agent-calls.ts';
import { isBody, readKeepalive, readRegistration } from '../../operations/agents/agent-input.ts';
import type { KeepaliveStore } from '../../store/agents/keepalive-store.ts';
import { poolExists } from '../../store/agents/pools.ts';
import { type ListedAgent, type ReadyRequest, readReadyAgents } from '../../store/agents/ready-agents.ts';
import type { Database } from '../../store/database/database.ts';
import { DatabaseAway } from '../../store/database/database-away.ts';
import type { Authenticator } from '../authenticate.ts';
import { badBodyText } from '../bad-body.ts';
import { faultOf, WIRE } from '../fault-wire.ts';
import type { MachineTokens } from '../machine-tokens.ts';
import { AGENT_ERRORS } from './agent-errors.ts';

export interface AgentRouteDependencies {
  readonly database: Database;
  readonly keepalives: KeepaliveStore;
  readonly calls: AgentCalls;
  readonly tokens: MachineTokens;
  readonly authenticator: Authenticator;
  readonly ttls: PresenceTtls;
  /** One line a registration, whatever came of it; never with a token. */
  readonly logRegistration: (entry: Readonly<Record<string, unknown>>) => void;
  /** What was dropped of an agent's keepalives; once for each machine. */
  readonly logIgnored: (entry: Readonly<Record<string, unknown>>) => void;
  readonly logUnexpected: (error: unknown, requestId: string, path: string) => void;
}

/** The largest honest body has a few hundred bytes. */
const MAX_BODY_BYTES = 16 * 1024;
const RETRY_AFTER_SECONDS = '5';
const LIST_PAGE = 1_000;
const MOST_NOTED = 10_000;
const REGISTER = '/api/v1/machine/register';
const KEEPALIVE = '/api/v1/machine/keepalive';

interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly errorCode: string | null;
  readonly detail?: string;
  /** The token is revoked for good: repeating the call does not help. */
  readonly revoked?: true;
}

const REVOKED_TOKEN = {
  ...AGENT_ERRORS.INVALID_TOKEN,
  revoked: true,
  detail: 'the token was revoked for good: its machine was decommissioned or removed',
} as const;

function invalidPayload(detail: string, status: number = AGENT_ERRORS.INVALID_PAYLOAD.status): Refusal {
  return { ...AGENT_ERRORS.INVALID_PAYLOAD, status, detail };
}

export async function agentRoutes(app: FastifyInstance, parts: AgentRouteDependencies): Promise<void> {
  const { tokens, calls, ttls } = parts;

  const refuse = (reply: FastifyReply, { status, message, errorCode, detail, revoked }: Refusal) =>
    reply.code(status).send({
      ...(errorCode === null ? {} : { error_code: errorCode }),
      message,
      ...(detail === undefined ? {} : { detail }),
      ...(revoked === undefined ? {} : { revoked }),
    });

  const noted = new Set<string>();
  const noteIgnored = (machineId: string, ignored: readonly string[]): void => {
    if (noted.has(machineId)) return;
    if (noted.size >= MOST_NOTED) noted.clear();
    noted.add(machineId);
    parts.logIgnored({ machine_id: machineId, ignored });
  };

  /** What the code did not foresee is told without its insides. */
  const unexpected = (error: unknown, request: FastifyRequest, refusal: Refusal): Refusal => {
    if (error instanceof Fault && error.kind === 'unavailable') {
      return { ...AGENT_ERRORS.TRY_AGAIN, message: error.message };
    }
    const fault = faultOf(error, request.id, (cause) =>
      parts.logUnexpected(cause, request.id, request.routeOptions.url ?? ''),
    );
    // Document 5 has 500 for its Redis; that the database is away is said as in all other calls.
    const status = error instanceof DatabaseAway ? WIRE[fault.kind].http : refusal.status;
    return { ...refusal, status, detail: fault.message };
  };

  app.removeContentTypeParser('text/plain');
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const status = error.statusCode ?? 500;
    const refusal =
      status < 500
        ? invalidPayload(badBodyText(error), status)
        : unexpected(
            error,
            request,
            error instanceof DatabaseAway ? AGENT_ERRORS.UNAVAILABLE : AGENT_ERRORS.INTERNAL,
          );
    return refuse(reply, refusal);
  });

  app.post(REGISTER, { bodyLimit: MAX_BODY_BYTES }, async (request, reply) => {
    const seen: { machine_id?: string; pool_name?: string; hostname?: string } = {};
    const answer = async (): Promise<Refusal | null> => {
      const owner = await tokens.owner(request.headers.authorization);
      if (owner === 'revoked') return REVOKED_TOKEN;
      if (!owner) return AGENT_ERRORS.INVALID_TOKEN;
      if (!isBody(request.body)) return invalidPayload('the body must be a JSON object');
      const registration = readRegistration(request.body);
      seen.machine_id = registration.machineId;
      seen.pool_name = registration.poolName;
      seen.hostname = registration.facts.hostname;
      if (registration.machineId !== owner.machineId) return AGENT_ERRORS.INVALID_TOKEN;
      if (!isSameEntry(registration, owner)) {
        return (await poolExists(parts.database, registration.poolName))
          ? AGENT_ERRORS.INVALID_TOKEN
          : AGENT_ERRORS.INVALID_POOL;
      }
      return (await calls.register(registration, owner.tokenHash)) ? null : AGENT_ERRORS.INVALID_TOKEN;
    };
    const refusal = await answer().catch((error: unknown) =>
      isInvalid(error)
        ? invalidPayload(error.message)
        : unexpected(error, request, AGENT_ERRORS.REGISTRATION_FAILED),
    );
    parts.logRegistration({ method: 'POST', path: REGISTER, status: refusal?.status ?? 200, ...seen });
    if (refusal) return refuse(withRetryAfter(reply, refusal), refusal);
    return reply.send({
      config: null,
      machine_state: {
        machine_id: seen.machine_id,
        status: 'registered',
        pool_name: seen.pool_name,
        ttl_seconds: ttls.keepaliveSeconds,
      },
    });
  });

  app.post(KEEPALIVE, { bodyLimit: MAX_BODY_BYTES }, async (request, reply) => {
    try {
      const owner = await tokens.owner(request.headers.authorization);
      if (owner === 'revoked') return refuse(reply, REVOKED_TOKEN);
      if (!owner) return refuse(reply, AGENT_ERRORS.INVALID_TOKEN);
      const { body } = request;
      if (!isBody(body)) return refuse(reply, invalidPayload('the body must be a JSON object'));
      if (!body.machine_id || !body.pool_name) return refuse(reply, AGENT_ERRORS.MISSING_ADDRESS);
      const { keepalive, ignored } = readKeepalive(body);
      if (keepalive.machineId !== owner.machineId) return refuse(reply, AGENT_ERRORS.INVALID_TOKEN);
      const stored = isSameEntry(keepalive, owner) ? await calls.keepAlive(keepalive) : null;
      if (!stored) return refuse(reply, AGENT_ERRORS.MACHINE_NOT_FOUND);
      if (ignored.length > 0) noteIgnored(keepalive.machineId, ignored);
      // Handing back the body and not the reply: fastify would wait for a reply to be sent, which it is already.
      return {
        status: 'ok',
        machine_state: {
          machine_id: keepalive.machineId,
          status: 'ready',
          last_keepalive: String(Math.floor(stored.at.getTime() / 1000)),
          ttl_seconds: ttls.keepaliveSeconds,
          agent_version: stored.agentVersion,
        },
        ...(ignored.length > 0 && { ignored }),
      };
    } catch (error) {
      const refusal = isInvalid(error)
        ? invalidPayload(error.message)
        : unexpected(error, request, AGENT_ERRORS.KEEPALIVE_FAILED);
      return refuse(withRetryAfter(reply, refusal), refusal);
    }
  });

  /** For the agent's own machine, or for whoever may look at machines. Nobody needs a remote configuration here. */
  app.get('/api/v1/machine/config', async (request, reply) => {
    const owner = await tokens.owner(request.headers.authorization);
    if (owner === 'revoked') return refuse(reply, REVOKED_TOKEN);
    if (!owner && !(await mayLook(parts, request))) return refuse(reply, AGENT_ERRORS.INVALID_TOKEN);
    return reply.send({ config: null });
  });

  app.get('/api/v1/machine/list', async (request, reply) => {
    if (!(await mayLook(parts, request))) return refuse(reply, AGENT_ERRORS.INVALID_TOKEN);
    const query = request.query as Record<string, unknown>;
    const schedulable = oneOf(query.schedulable);
    if (schedulable !== null && !Object.hasOwn(BOOLEANS, schedulable))
      return refuse(reply, invalidPayload('schedulable: must be true or false'));
    const filter = {
      pool: oneOf(query.pool_name),
      provider: oneOf(query.provider_name),
      schedulable: schedulable === null ? null : BOOLEANS[schedulable as keyof typeof BOOLEANS],
    };
    return reply.type('application/json').send(Readable.from(listReady(parts, filter)));
  });
}

const BOOLEANS = { true: true, false: false } as const;

function isInvalid(error: unknown): error is Fault {
  return error instanceof Fault && WIRE[error.kind].http === 400;
}

function isSameEntry(said: AgentAddress, owner: AgentAddress): boolean {
  return said.poolName === owner.poolName && said.providerName === owner.providerName;
}

function withRetryAfter(reply: FastifyReply, { status }: Refusal): FastifyReply {
  return status === 503 ? reply.header('retry-after', RETRY_AFTER_SECONDS) : reply;
}

/** An operator's token, of any role. A machine's is not among them. */
async function mayLook({ authenticator }: AgentRouteDependencies, request: FastifyRequest): Promise<boolean> {
  try {
    await authenticator.caller(request.headers.authorization);
    return true;
  } catch (error) {
    if (error instanceof Fault && error.kind === 'unauthenticated') return false;
    throw error;
  }
}

/** A parameter that is given twice means its first value. */
function oneOf(value: unknown): string | null {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return typeof first === 'string' && first !== '' ? first : null;
}

/** A page of the database at a time, so that a large fleet is never in memory as a whole. */
async function* listReady(
  { database, keepalives }: AgentRouteDependencies,
  filter: Pick<ReadyRequest, 'pool' | 'provider' | 'schedulable'>,
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

/** What document 5 prints, and beside its status whether work may be placed on the machine. */
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
