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

export async function answerKeepalive(
  dependencies: KeepaliveDependencies,
  call: KeepaliveCall,
): Promise<KeepaliveAnswer> {
  try {
    const { body, owner } = call;
    if (!isBody(body)) return { refusal: invalidPayload('the body must be a JSON object') };
    if (!body.machine_id || !body.pool_name) return { refusal: AGENT_ERRORS.MISSING_ADDRESS };
    const read = readKeepalive(body);
    if (read.keepalive.machineId !== owner.machineId) return { refusal: AGENT_ERRORS.INVALID_TOKEN };
    const stored = isSameEntry(read.keepalive, owner)
      ? await dependencies.calls.keepAlive(read.keepalive)
      : null;
    if (!stored) return { refusal: AGENT_ERRORS.MACHINE_NOT_FOUND };
    if (read.ignored.length > 0) dependencies.logIgnored(read.keepalive.machineId, read.ignored);
    return { refusal: null, body: storedBody(dependencies, call, { ...read, stored }) };
  } catch (error) {
    if (isInvalid(error)) return { refusal: invalidPayload(error.message) };
    const failed = {
      requestId: call.requestId(),
      path: AGENT_ROUTES.keepalive.path,
      logUnexpected: dependencies.logUnexpected,
    };
    return { refusal: unexpected(failed, error, AGENT_ERRORS.KEEPALIVE_FAILED) };
  }
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
