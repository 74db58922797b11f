/**
 * The agent's whole behaviour towards the server, as one pure function: what it does next, when, and what it says.
 *
 * All waits hang on one number, the interval (60 s), so that a test which shortens it shortens everything:
 * - between keepalives: the interval, a tenth more or less; the first wait is anything up to one interval. Machines
 *   that were switched on together are thereby spread over the interval at once, and stay so.
 * - the server is away: exponential backoff with full jitter, from a 60th of the interval to the interval.
 * - the server says no (token, request): the same, from a sixth to five times the interval. A person must act; what the
 *   token's file holds is looked at meanwhile (run-agent.ts).
 *
 * Failures in a row are forgotten at an accepted keepalive, and at nothing less: a server that takes every
 * registration and then knows nothing of it must not be asked in a tight loop.
 */
import type { EventLevel, LogFields } from './agent-log.ts';
import type { ServerAnswer } from './server-answer.ts';

export interface AgentState {
  readonly doing: 'register' | 'keepalive';
  /** Whether a keepalive was accepted since the last registration. */
  readonly ready: boolean;
  /** In a row. */
  readonly failures: number;
  /** What the agent was told. */
  readonly configuredMs: number;
  /** The same, or less where the server's TTL is short. */
  readonly intervalMs: number;
}

export interface AgentMove {
  readonly state: AgentState;
  readonly waitMs: number;
  readonly level: EventLevel;
  readonly event: string;
  readonly fields: LogFields;
}

/** The longest interval that leaves a machine two more tries before the server's TTL ends. */
const KEEPALIVES_PER_TTL = 3;
const SHORTEST_INTERVAL_FOR_TTL_MS = 1000;

export function firstState(intervalMs: number): AgentState {
  return { doing: 'register', ready: false, failures: 0, configuredMs: intervalMs, intervalMs };
}

/** What the machine is made of has changed since it was registered, or its token has. */
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
  // A registration that is answered so is just one that failed.
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

function failed(state: AgentState, answer: Failed, backoff: Backoff, random: number): AgentMove {
  const failures = state.failures + 1;
  const own = backoffWithJitter(backoff, failures, random);
  // On top of what the server asks for: it tells everybody the same.
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

interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
}

const quickBackoff = (intervalMs: number): Backoff => ({ firstMs: intervalMs / 60, maxMs: intervalMs });
const slowBackoff = (intervalMs: number): Backoff => ({ firstMs: intervalMs / 6, maxMs: intervalMs * 5 });

/** Full jitter, but for half of the first step: no retry is immediate. */
function backoffWithJitter({ firstMs, maxMs }: Backoff, attempt: number, random: number): number {
  const ceiling = Math.min(maxMs, firstMs * 2 ** Math.min(attempt - 1, 30));
  const floor = firstMs / 2;
  return floor + (ceiling - floor) * random;
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)}s`;
