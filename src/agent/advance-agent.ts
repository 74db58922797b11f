/**
 * The agent's behaviour towards the server, as one pure function: the next request, when it is sent, and the log line.
 *
 * All waits derive from the interval (60 s), so that a test that shortens it shortens everything:
 * - between keepalives: the interval, plus or minus a tenth; the first wait is a random part of the interval. Machines that
 *   were switched on together are thereby spread over the interval.
 * - the server does not respond: exponential backoff with full jitter, from a 60th of the interval to the interval.
 * - the server refuses the token or the request: the same, from a sixth to five times the interval. An operator must act;
 *   meanwhile the token file is read again (run-agent.ts).
 *
 * Only an accepted keepalive resets the count of failures: a server that accepts every registration and forgets it at once is
 * not called in a tight loop.
 */

import type { BackoffPolicy } from '../time/backoff.ts';
import type { EventLevel, LogFields } from './agent-log.ts';
import type { ServerAnswer } from './server-answer.ts';

export interface AgentState {
  readonly doing: 'register' | 'keepalive';
  /** Whether a keepalive was accepted since the last registration. */
  readonly ready: boolean;
  /** Consecutive failures. */
  readonly failures: number;
  /** The interval of the settings. */
  readonly configuredMs: number;
  /** The interval in use: shorter than configured if the server's TTL is short. */
  readonly intervalMs: number;
}

export interface AgentMove {
  readonly state: AgentState;
  readonly waitMs: number;
  readonly level: EventLevel;
  readonly event: string;
  readonly fields: LogFields;
}

/** With three keepalives per TTL, two may fail before the machine expires. */
const KEEPALIVES_PER_TTL = 3;
const SHORTEST_INTERVAL_FOR_TTL_MS = 1000;

export function firstState(intervalMs: number): AgentState {
  return { doing: 'register', ready: false, failures: 0, configuredMs: intervalMs, intervalMs };
}

/** The hardware or the token has changed since the registration. */
export function registerAgain(state: AgentState): AgentState {
  return { ...state, doing: 'register', ready: false };
}

/** `random` is in [0, 1). */
export function advanceAgent(state: AgentState, answer: ServerAnswer, random: number): AgentMove {
  switch (answer.kind) {
    case 'accepted':
      return state.doing === 'register' ? registered(state, answer) : kept(state, answer, random);
    case 'expired':
      return expired(state, answer.reason, random);
    case 'denied':
    case 'revoked':
    case 'refused':
      return failed(state, answer, slowBackoff(state.intervalMs), random);
    case 'unavailable':
      return failed(state, answer, quickBackoff(state.intervalMs), random);
  }
}

type Accepted = Extract<ServerAnswer, { kind: 'accepted' }>;
type Failed = Exclude<ServerAnswer, { kind: 'accepted' }>;

function registered(state: AgentState, { ttlSeconds }: Accepted): AgentMove {
  const longest = Math.max(
    SHORTEST_INTERVAL_FOR_TTL_MS,
    ((ttlSeconds ?? Number.POSITIVE_INFINITY) * 1000) / KEEPALIVES_PER_TTL,
  );
  const intervalMs = Math.min(state.configuredMs, longest);
  return {
    state: { ...state, doing: 'keepalive', ready: false, intervalMs },
    waitMs: 0,
    level: 'info',
    event: 'registered',
    fields: { ttl: ttlSeconds === undefined ? undefined : `${ttlSeconds}s`, interval: seconds(intervalMs) },
  };
}

function kept(state: AgentState, { status }: Accepted, random: number): AgentMove {
  const next: AgentState = { ...state, ready: true, failures: 0 };
  if (!state.ready) {
    const waitMs = state.intervalMs * random;
    return { state: next, waitMs, level: 'info', event: status ?? 'ready', fields: {} };
  }
  const waitMs = state.intervalMs * (0.9 + 0.2 * random);
  if (state.failures > 0)
    return { state: next, waitMs, level: 'info', event: 'keepalive accepted again', fields: {} };
  return { state: next, waitMs, level: 'debug', event: 'keepalive', fields: { status } };
}

function expired(state: AgentState, reason: string, random: number): AgentMove {
  // For a registration this is an ordinary failure.
  if (state.doing === 'register')
    return failed(state, { kind: 'unavailable', reason }, quickBackoff(state.intervalMs), random);
  const waitMs =
    state.failures === 0 ? 0 : backoffWithJitter(quickBackoff(state.intervalMs), state.failures, random);
  return {
    state: { ...registerAgain(state), failures: state.failures + 1 },
    waitMs,
    level: 'warn',
    event: 're-registering',
    fields: { reason, in: waitMs === 0 ? undefined : seconds(waitMs) },
  };
}

function failed(state: AgentState, answer: Failed, backoff: BackoffPolicy, random: number): AgentMove {
  const failures = state.failures + 1;
  const own = backoffWithJitter(backoff, failures, random);
  // In addition to Retry-After, which is the same for all agents.
  const asked = answer.kind === 'unavailable' ? (answer.retryAfterMs ?? 0) : 0;
  const waitMs = asked + own;
  const what = state.doing === 'register' ? 'registration' : 'keepalive';
  const fields = { reason: answer.reason, failures, retry_in: seconds(waitMs) };
  const event = EVENT_OF_FAILURE[answer.kind];
  const hint = answer.kind === 'denied' ? { hint: 'the token is not valid for this machine' } : {};
  return {
    state: { ...state, failures },
    waitMs,
    level: event === 'failed' ? 'warn' : 'error',
    event: `${what} ${event}`,
    fields: { ...fields, ...hint },
  };
}

const EVENT_OF_FAILURE = {
  expired: 'failed',
  unavailable: 'failed',
  denied: 'denied',
  revoked: 'denied',
  refused: 'refused',
} as const satisfies Record<Failed['kind'], string>;

const quickBackoff = (intervalMs: number): BackoffPolicy => ({ firstMs: intervalMs / 60, maxMs: intervalMs });
const slowBackoff = (intervalMs: number): BackoffPolicy => ({
  firstMs: intervalMs / 6,
  maxMs: intervalMs * 5,
});

/** Full jitter above half of the first step, so that no retry is immediate. */
function backoffWithJitter({ firstMs, maxMs }: BackoffPolicy, attempt: number, random: number): number {
  const ceiling = Math.min(maxMs, firstMs * 2 ** Math.min(attempt - 1, 30));
  const floor = firstMs / 2;
  return floor + (ceiling - floor) * random;
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)}s`;
