/** The agent's hands: one request at a time, each followed by the wait that `advance-agent.ts` asks for. */
import { advanceAgent, firstState, registerAgain } from './advance-agent.ts';
import type { AgentLog } from './agent-log.ts';
import type { MachineFigures } from './machine-figures.ts';
import { pause } from './pause.ts';
import { type JsonPoster, NoAnswer } from './post-json.ts';
import { readServerAnswer, type ServerAnswer } from './server-answer.ts';

export interface AgentIdentity {
  readonly machineId: string;
  readonly provider: string;
  readonly pool: string;
  readonly token: string;
  readonly hostname: string;
  readonly agentVersion: string;
}

export interface AgentParts {
  readonly identity: AgentIdentity;
  readonly intervalMs: number;
  readonly poster: JsonPoster;
  readonly figures: MachineFigures;
  readonly log: AgentLog;
  readonly now: () => number;
  readonly random: () => number;
}

/** Returns when `stop` is aborted, and soon. */
export async function runAgent(parts: AgentParts, stop: AbortSignal): Promise<void> {
  const { figures, log, random } = parts;
  let state = firstState(parts.intervalMs);
  let registeredGpus = '0';
  while (!stop.aborted) {
    let answer: ServerAnswer;
    if (state.doing === 'register') {
      const hardware = await figures.hardware(stop);
      registeredGpus = hardware.gpu_count;
      answer = await register(parts, hardware, stop);
    } else {
      const { metrics, gpuCount } = await figures.metrics(stop);
      // A driver that came up late, or a device that fell off the bus: what was registered is not true any more.
      // Only between keepalives, so that a tool which answers now this, now that can't make a tight loop.
      if (state.ready && gpuCount !== undefined && String(gpuCount) !== registeredGpus) {
        log('warn', 're-registering', {
          reason: `${registeredGpus} GPUs were registered, now there are ${gpuCount}`,
        });
        state = registerAgain(state);
        continue;
      }
      answer = await keepAlive(parts, metrics, stop);
    }
    if (stop.aborted) return;
    const move = advanceAgent(state, answer, random());
    log(move.level, move.event, move.fields);
    state = move.state;
    await pause(move.waitMs, stop);
  }
}

function register(
  { identity, ...parts }: AgentParts,
  hardware: object,
  stop: AbortSignal,
): Promise<ServerAnswer> {
  const body = {
    token: identity.token,
    machine_id: identity.machineId,
    hostname: identity.hostname,
    provider_name: identity.provider,
    pool_name: identity.pool,
    ...hardware,
  };
  return ask(parts, '/api/v1/machine/register', body, stop);
}

function keepAlive(
  { identity, ...parts }: AgentParts,
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
  { poster, now }: Pick<AgentParts, 'poster' | 'now'>,
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
