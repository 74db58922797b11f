/** Runs the agent: one request at a time, each followed by the wait that `advance-agent.ts` returns. */

import { sleep } from '../time/sleep.ts';
import { type AgentMove, type AgentState, advanceAgent, firstState, registerAgain } from './advance-agent.ts';
import type { AgentLog } from './agent-log.ts';
import { AGENT_EXITS, type AgentExit } from './exit-codes.ts';
import type { MachineFigures } from './figures/machine-figures.ts';
import { type JsonPoster, NoAnswer } from './post-json.ts';
import { readServerAnswer, type ServerAnswer } from './server-answer.ts';
import type { LoopPulse } from './service/loop-pulse.ts';
import type { ServiceManager } from './service/service-manager.ts';
import { createTokenRotation } from './token/token-rotation.ts';
import type { TokenSource } from './token/token-source.ts';

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
  /** The time limit of a request. */
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

/** Measuring ends within the limits of its tools and of the resolver. */
const MEASURE_LIMIT_MS = 60_000;
/** Consecutive refusals after which the agent exits, if only a restart can replace its token. */
const REFUSALS_BEFORE_RESTART = 3;
/** How often the token file is read after a refusal. */
const TOKEN_READS_PER_INTERVAL = 6;

/** Returns soon after `stop` is aborted, or when only a restart or an operator can help. */
export async function runAgent(dependencies: AgentDependencies, stop: AbortSignal): Promise<AgentExit> {
  const { log, random, tokens, manager, pulse } = dependencies;
  const sendRequest = createRequester(dependencies);
  let state = firstState(dependencies.intervalMs);
  let isRegistered = false;
  let refusals = 0;
  while (!stop.aborted) {
    pulse.expect(MEASURE_LIMIT_MS + 2 * dependencies.requestLimitMs);
    const answer = await sendRequest(state, stop);
    if (stop.aborted) break;
    if (answer === 'other hardware') {
      state = registerAgain(state);
      continue;
    }
    const isRefused = answer.kind === 'denied' || answer.kind === 'revoked';
    if (isRefused && tokens.reload() === 'changed') {
      state = withNewToken(dependencies, state);
      continue;
    }
    const move = advanceAgent(state, answer, random());
    log(move.level, move.event, move.fields);
    if (answer.kind === 'revoked') return giveUp(dependencies, 'revoked');
    if (answer.kind === 'accepted' && state.doing === 'register' && !isRegistered) {
      isRegistered = true;
      manager.ready('registered');
    } else manager.status(statusText(answer, move));
    state = move.state;
    refusals = isRefused ? refusals + 1 : 0;
    if (tokens.kind === 'credential' && refusals >= REFUSALS_BEFORE_RESTART)
      return giveUp(dependencies, 'staleCredential');
    pulse.expect(move.waitMs);
    if (!isRefused) await sleep(move.waitMs, stop);
    else if (await newTokenWithin(move.waitMs, dependencies, stop)) state = withNewToken(dependencies, state);
  }
  return 'stopped';
}

/** Only our own words: a server's message could contain a line break. */
function statusText({ kind }: ServerAnswer, { event, state }: AgentMove): string {
  if (kind !== 'accepted') return event;
  return state.ready ? 'ready' : 'registered';
}

function giveUp({ log, tokens }: AgentDependencies, exit: 'revoked' | 'staleCredential'): AgentExit {
  const { code, meaning } = AGENT_EXITS[exit];
  log('error', 'giving up', { reason: meaning, exit_code: code, token: tokens.kind });
  return exit;
}

function withNewToken({ log }: AgentDependencies, state: AgentState): AgentState {
  log('info', 'token replaced', { hint: 'its file holds another one' });
  return { ...registerAgain(state), failures: 0 };
}

/** Waits, but returns as soon as the file has another token. */
async function newTokenWithin(
  waitMs: number,
  { tokens, intervalMs }: AgentDependencies,
  stop: AbortSignal,
): Promise<boolean> {
  for (let left = waitMs; left > 0 && !stop.aborted; left -= intervalMs / TOKEN_READS_PER_INTERVAL) {
    await sleep(Math.min(left, intervalMs / TOKEN_READS_PER_INTERVAL), stop);
    if (tokens.reload() === 'changed') return true;
  }
  return false;
}

/** Measures and sends the request of the state; remembers the registered GPUs. */
function createRequester(
  dependencies: AgentDependencies,
): (state: AgentState, stop: AbortSignal) => Promise<ServerAnswer | 'other hardware'> {
  const { figures, log } = dependencies;
  const rotate = createTokenRotation(dependencies);
  let registeredGpus = '0';
  let ignored = '';
  return async (state, stop) => {
    if (state.doing === 'register') {
      const hardware = await figures.hardware(stop);
      registeredGpus = hardware.gpu_count;
      return register(dependencies, hardware, stop);
    }
    const { metrics, gpuCount } = await figures.metrics(stop);
    // A driver started late, or a device left the bus: the registration is out of date. Only when ready, so that a tool with
    // changing results can't cause a tight loop.
    if (state.ready && gpuCount !== undefined && String(gpuCount) !== registeredGpus) {
      log('warn', 're-registering', {
        reason: `${registeredGpus} GPUs were registered, now there are ${gpuCount}`,
      });
      return 'other hardware';
    }
    const answer = await keepAlive(dependencies, metrics, stop);
    if (answer.kind === 'accepted' && answer.rotateToken) await rotate(stop);
    if (answer.kind === 'accepted' && (answer.ignored ?? '') !== ignored) {
      ignored = answer.ignored ?? '';
      if (ignored !== '') log('warn', 'server ignored a part', { reason: ignored });
    }
    return answer;
  };
}

function register(
  { identity, ...dependencies }: AgentDependencies,
  hardware: object,
  stop: AbortSignal,
): Promise<ServerAnswer> {
  const token = dependencies.tokens.current();
  const body = {
    ...(token === null ? {} : { token }),
    machine_id: identity.machineId,
    hostname: identity.hostname,
    provider_name: identity.provider,
    pool_name: identity.pool,
    ...hardware,
  };
  return ask(dependencies, '/api/v1/machine/register', body, stop);
}

function keepAlive(
  { identity, ...dependencies }: AgentDependencies,
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
  return ask(dependencies, '/api/v1/machine/keepalive', body, stop);
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
