/** The agent's hands: one request at a time, each followed by the wait that `advance-agent.ts` asks for. */

import { sleep } from '../time/sleep.ts';
import { type AgentMove, type AgentState, advanceAgent, firstState, registerAgain } from './advance-agent.ts';
import type { AgentLog } from './agent-log.ts';
import { AGENT_EXITS, type AgentExit } from './exit-codes.ts';
import type { LoopPulse } from './loop-pulse.ts';
import type { MachineFigures } from './machine-figures.ts';
import { type JsonPoster, NoAnswer } from './post-json.ts';
import { readServerAnswer, type ServerAnswer } from './server-answer.ts';
import type { ServiceManager } from './service-manager.ts';
import type { TokenSource } from './token-source.ts';

export interface AgentIdentity {
  readonly machineId: string;
  readonly provider: string;
  readonly pool: string;
  readonly hostname: string;
  readonly agentVersion: string;
}

export interface AgentDependencies {
  readonly identity: AgentIdentity;
  readonly intervalMs: number;
  /** How long a request may take. */
  readonly requestLimitMs: number;
  readonly tokens: TokenSource;
  readonly manager: Omit<ServiceManager, 'stopping'>;
  readonly pulse: LoopPulse;
  readonly poster: JsonPoster;
  readonly figures: MachineFigures;
  readonly log: AgentLog;
  readonly now: () => number;
  readonly random: () => number;
}

/** Measuring is bounded by the limits of its tools and of the resolver. */
const MEASURE_LIMIT_MS = 60_000;
/** So many refusals in a row of a token that only a restart can replace. */
const REFUSALS_BEFORE_RESTART = 3;
/** After a refusal the token's file is looked at so often, as a share of the interval. */
const LOOKS_PER_INTERVAL = 6;

/** Returns when `stop` is aborted, and soon; or when going on is of no use, with why. */
export async function runAgent(parts: AgentDependencies, stop: AbortSignal): Promise<AgentExit> {
  const { log, random, tokens, manager, pulse } = parts;
  const asking = createAsker(parts);
  let state = firstState(parts.intervalMs);
  let isRegistered = false;
  let refusals = 0;
  while (!stop.aborted) {
    pulse.expect(MEASURE_LIMIT_MS + 2 * parts.requestLimitMs);
    const answer = await asking(state, stop);
    if (stop.aborted) break;
    if (answer === 'other hardware') {
      state = registerAgain(state);
      continue;
    }
    const isRefused = answer.kind === 'denied' || answer.kind === 'revoked';
    if (isRefused && tokens.reload() === 'changed') {
      state = withNewToken(parts, state);
      continue;
    }
    const move = advanceAgent(state, answer, random());
    log(move.level, move.event, move.fields);
    if (answer.kind === 'revoked') return givenUp(parts, 'revoked');
    if (answer.kind === 'accepted' && state.doing === 'register' && !isRegistered) {
      isRegistered = true;
      manager.ready('registered');
    } else manager.status(statusText(answer, move));
    state = move.state;
    refusals = isRefused ? refusals + 1 : 0;
    if (tokens.kind === 'credential' && refusals >= REFUSALS_BEFORE_RESTART)
      return givenUp(parts, 'staleCredential');
    pulse.expect(move.waitMs);
    if (!isRefused) await sleep(move.waitMs, stop);
    else if (await newTokenWithin(move.waitMs, parts, stop)) state = withNewToken(parts, state);
  }
  return 'stopped';
}

/** Words of our own only: what a server says could hold a line of its own. */
function statusText({ kind }: ServerAnswer, { event, state }: AgentMove): string {
  if (kind !== 'accepted') return event;
  return state.ready ? 'ready' : 'registered';
}

function givenUp({ log, tokens }: AgentDependencies, exit: 'revoked' | 'staleCredential'): AgentExit {
  const { code, meaning } = AGENT_EXITS[exit];
  log('error', 'giving up', { reason: meaning, exit_code: code, token: tokens.kind });
  return exit;
}

function withNewToken({ log }: AgentDependencies, state: AgentState): AgentState {
  log('info', 'token replaced', { hint: 'its file holds another one' });
  return { ...registerAgain(state), failures: 0 };
}

/** Waits; whoever puts another token into the file need not wait as long as the agent would. */
async function newTokenWithin(
  waitMs: number,
  { tokens, intervalMs }: AgentDependencies,
  stop: AbortSignal,
): Promise<boolean> {
  for (let left = waitMs; left > 0 && !stop.aborted; left -= intervalMs / LOOKS_PER_INTERVAL) {
    await sleep(Math.min(left, intervalMs / LOOKS_PER_INTERVAL), stop);
    if (tokens.reload() === 'changed') return true;
  }
  return false;
}

/** Measures and asks what the state says; remembers what was registered. */
function createAsker(
  parts: AgentDependencies,
): (state: AgentState, stop: AbortSignal) => Promise<ServerAnswer | 'other hardware'> {
  const { figures, log } = parts;
  let registeredGpus = '0';
  let ignored = '';
  return async (state, stop) => {
    if (state.doing === 'register') {
      const hardware = await figures.hardware(stop);
      registeredGpus = hardware.gpu_count;
      return register(parts, hardware, stop);
    }
    const { metrics, gpuCount } = await figures.metrics(stop);
    // A driver that came up late, or a device that fell off the bus: what was registered is not true any more.
    // Only between keepalives, so that a tool which answers now this, now that can't make a tight loop.
    if (state.ready && gpuCount !== undefined && String(gpuCount) !== registeredGpus) {
      log('warn', 're-registering', {
        reason: `${registeredGpus} GPUs were registered, now there are ${gpuCount}`,
      });
      return 'other hardware';
    }
    const answer = await keepAlive(parts, metrics, stop);
    if (answer.kind === 'accepted' && (answer.ignored ?? '') !== ignored) {
      ignored = answer.ignored ?? '';
      if (ignored !== '') log('warn', 'server could not keep a part', { reason: ignored });
    }
    return answer;
  };
}

function register(
  { identity, ...parts }: AgentDependencies,
  hardware: object,
  stop: AbortSignal,
): Promise<ServerAnswer> {
  const body = {
    token: parts.tokens.current(),
    machine_id: identity.machineId,
    hostname: identity.hostname,
    provider_name: identity.provider,
    pool_name: identity.pool,
    ...hardware,
  };
  return ask(parts, '/api/v1/machine/register', body, stop);
}

function keepAlive(
  { identity, ...parts }: AgentDependencies,
  metrics: object,
  stop: AbortSignal,
): Promise<ServerAnswer> {
  const body = {
    machine_id: identity.machineId,
    provider_name: identity.provider,
    pool_name: identity.pool,
    agent_version: identity.agentVersion,
    metrics,
  };
  return ask(parts, '/api/v1/machine/keepalive', body, stop);
}

async function ask(
  { poster, now }: Pick<AgentDependencies, 'poster' | 'now'>,
  path: string,
  body: object,
  stop: AbortSignal,
): Promise<ServerAnswer> {
  try {
    return readServerAnswer(await poster.post(path, body, stop), now());
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    return { kind: 'unavailable', reason: error.message };
  }
}
