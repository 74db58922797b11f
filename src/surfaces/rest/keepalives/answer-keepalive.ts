/** A keepalive whose sender is known, from its body to its answer; the same whichever way the request came. */
import type { AgentAddress, PresenceTtls } from '../../../domain/agent/agent.ts';
import type { AgentCalls, StoredKeepalive } from '../../../operations/agents/agent-calls.ts';
import { isBody, type ReadKeepalive, readKeepalive } from '../../../operations/agents/agent-input.ts';
import type { AgentBearer } from '../../../store/agents/agents.ts';
import { AGENT_ERRORS } from '../agent-errors.ts';
import {
  type AgentRefusal,
  type FailedCall,
  invalidPayload,
  isInvalid,
  unexpected,
} from '../agent-refusals.ts';
import { AGENT_ROUTES } from '../api/agent-api.ts';

export interface KeepaliveDependencies {
  readonly calls: Pick<AgentCalls, 'keepAlive'>;
  readonly ttls: PresenceTtls;
  /** An agent is asked to replace a token that is older; infinity: never. */
  readonly rotateTokensAfterMs: number;
  readonly now: () => number;
  /** Fields of keepalives that were dropped. */
  readonly logIgnored: IgnoredLog;
  readonly logUnexpected: FailedCall['logUnexpected'];
}

export interface KeepaliveCall {
  readonly owner: AgentBearer;
  readonly body: unknown;
  /** By its token, and not by a certificate, which is not replaced here. */
  readonly hasToken: boolean;
  readonly requestId: () => string;
}

export type KeepaliveAnswer =
  | { readonly refusal: null; readonly body: object }
  | { readonly refusal: AgentRefusal };

export type IgnoredLog = (machineId: string, ignored: readonly string[]) => void;

/** `answered` is called once. No promise is made: thousands of keepalives come in a second. */
export function answerKeepalive(
  dependencies: KeepaliveDependencies,
  call: KeepaliveCall,
  answered: (answer: KeepaliveAnswer) => void,
): void {
  const failed = (error: unknown) => answered({ refusal: refusalOf(dependencies, call, error) });
  const read = checked(call, failed);
  if (read === null) return;
  if ('refusal' in read) answered(read);
  else
    dependencies.calls.keepAlive(read.keepalive, {
      stored: (stored) => answered(answerOf(dependencies, call, { ...read, stored })),
      failed,
    });
}

/** Null: it failed. */
function checked(
  { body, owner }: KeepaliveCall,
  failed: (error: unknown) => void,
): ReadKeepalive | { readonly refusal: AgentRefusal } | null {
  if (!isBody(body)) return { refusal: invalidPayload('the body must be a JSON object') };
  if (!body.machine_id || !body.pool_name) return { refusal: AGENT_ERRORS.MISSING_ADDRESS };
  try {
    const read = readKeepalive(body);
    if (read.keepalive.machineId !== owner.machineId) return { refusal: AGENT_ERRORS.INVALID_TOKEN };
    return isSameEntry(read.keepalive, owner) ? read : { refusal: AGENT_ERRORS.MACHINE_NOT_FOUND };
  } catch (error) {
    failed(error);
    return null;
  }
}

function answerOf(
  dependencies: KeepaliveDependencies,
  call: KeepaliveCall,
  { keepalive, ignored, stored }: ReadKeepalive & { readonly stored: StoredKeepalive | null },
): KeepaliveAnswer {
  if (stored === null) return { refusal: AGENT_ERRORS.MACHINE_NOT_FOUND };
  if (ignored.length > 0) dependencies.logIgnored(keepalive.machineId, ignored);
  return { refusal: null, body: storedBody(dependencies, call, { keepalive, ignored, stored }) };
}

function refusalOf(
  { logUnexpected }: KeepaliveDependencies,
  { requestId }: KeepaliveCall,
  error: unknown,
): AgentRefusal {
  if (isInvalid(error)) return invalidPayload(error.message);
  const failed = { requestId: requestId(), path: AGENT_ROUTES.keepalive.path, logUnexpected };
  return unexpected(failed, error, AGENT_ERRORS.KEEPALIVE_FAILED);
}

function storedBody(
  { ttls, now, rotateTokensAfterMs }: KeepaliveDependencies,
  { owner, hasToken }: KeepaliveCall,
  { keepalive, ignored, stored }: ReadKeepalive & { readonly stored: StoredKeepalive },
): object {
  const isOld = hasToken && now() - owner.issuedAt.getTime() > rotateTokensAfterMs;
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
    ...(isOld && { rotate_token: true }),
  };
}

export function isSameEntry(said: AgentAddress, owner: AgentAddress): boolean {
  return said.poolName === owner.poolName && said.providerName === owner.providerName;
}

const MOST_LOGGED = 10_000;

/** One entry for each machine: its agent sends the same again a minute later. */
export function ignoredLog(log: (entry: Readonly<Record<string, unknown>>) => void): IgnoredLog {
  const logged = new Set<string>();
  return (machineId, ignored) => {
    if (logged.has(machineId)) return;
    if (logged.size >= MOST_LOGGED) logged.clear();
    logged.add(machineId);
    log({ machine_id: machineId, ignored });
  };
}
