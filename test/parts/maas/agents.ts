/**
 * Agents of deployed machines: what cloud-init would have started. They read their settings out of the user data, as
 * the machine would, and call Ingot over its real API until their machine goes down.
 */
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import type { SimMachine } from './sim-machine.ts';

export interface AgentSettings {
  readonly server: string;
  readonly machineId: string;
  readonly pool: string;
  readonly provider: string;
  readonly token: string;
}

export interface AgentView {
  readonly state: 'enrolling' | 'enrolled';
  readonly registrations: number;
  readonly keepalives: number;
  /** What Ingot answered last. */
  readonly lastStatus: number | null;
}

const ENVIRONMENT_FILE = '/etc/ingot/agent.env';
const MAX_SOCKETS = 32;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
const LIMIT_MS = 15_000;

/** Null: it starts no agent. Throws where it is no cloud-config at all. */
function readAgentSettings(userData: string): AgentSettings | null {
  if (!userData.startsWith('#cloud-config')) return null;
  const config = parse(userData) as { write_files?: { path?: string; content?: string }[] } | null;
  const file = config?.write_files?.find(({ path }) => path === ENVIRONMENT_FILE);
  if (!file?.content) return null;
  const variables = new Map(
    file.content.split('\n').map((line) => {
      const at = line.indexOf('=');
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()] as const;
    }),
  );
  const server = variables.get('INGOT_AGENT_SERVER');
  const machineId = variables.get('INGOT_MACHINE_ID');
  const pool = variables.get('INGOT_POOL');
  const token = variables.get('INGOT_MACHINE_TOKEN');
  if (!server || !machineId || !pool || !token) return null;
  return { server, machineId, pool, token, provider: variables.get('INGOT_AGENT_PROVIDER') || 'generic' };
}

interface Running {
  readonly stop: AbortController;
  readonly view: { -readonly [K in keyof AgentView]: AgentView[K] };
}

export class Agents {
  readonly #running = new Map<string, Running>();
  readonly #keepaliveMs: () => number;
  readonly #http = new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS });

  constructor(keepaliveMs: () => number) {
    this.#keepaliveMs = keepaliveMs;
  }

  view(systemId: string): AgentView | null {
    return this.#running.get(systemId)?.view ?? null;
  }

  start(machine: SimMachine): void {
    this.stop(machine.systemId);
    const settings = readable(machine.userData);
    if (!settings) return;
    const running: Running = {
      stop: new AbortController(),
      view: { state: 'enrolling', registrations: 0, keepalives: 0, lastStatus: null },
    };
    this.#running.set(machine.systemId, running);
    this.#run(settings, machine.hostname, running).catch(() => {
      // It was stopped.
    });
  }

  stop(systemId: string): void {
    this.#running.get(systemId)?.stop.abort();
    this.#running.delete(systemId);
  }

  stopAll(): void {
    for (const systemId of [...this.#running.keys()]) this.stop(systemId);
    this.#http.destroy();
  }

  async #run(settings: AgentSettings, hostname: string, { stop, view }: Running): Promise<void> {
    const { signal } = stop;
    const identity = {
      machine_id: settings.machineId,
      provider_name: settings.provider,
      pool_name: settings.pool,
    };
    for (let failures = 0; ; ) {
      const isEnrolled = view.state === 'enrolled';
      const body = isEnrolled
        ? { ...identity, agent_version: 'maas-sim', metrics: METRICS }
        : { ...identity, ...FIGURES, token: settings.token, hostname };
      const path = isEnrolled ? 'keepalive' : 'register';
      const status = await this.#post(settings, path, body, signal).catch(() => null);
      signal.throwIfAborted();
      view.lastStatus = status;
      if (status !== 200) {
        // Whatever it was, Ingot may have forgotten the machine.
        view.state = 'enrolling';
        failures++;
        await sleep(Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS), undefined, { signal });
        continue;
      }
      failures = 0;
      if (isEnrolled) view.keepalives++;
      else {
        view.state = 'enrolled';
        view.registrations++;
        continue;
      }
      // Spread from the first one on.
      const wait = view.keepalives === 1 ? this.#keepaliveMs() * Math.random() : this.#keepaliveMs();
      await sleep(wait, undefined, { signal });
    }
  }

  #post(
    { server, token }: AgentSettings,
    path: string,
    body: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<number> {
    return new Promise((resolve, reject) => {
      const text = JSON.stringify(body);
      const sent = request(`${server.replace(/\/+$/, '')}/api/v1/machine/${path}`, {
        method: 'POST',
        agent: this.#http,
        signal,
        timeout: LIMIT_MS,
        headers: {
          Authorization: `Bearer ${token}`,
          'Content-Type': 'application/json',
          'Content-Length': Buffer.byteLength(text),
        },
      });
      sent.on('error', reject);
      sent.on('timeout', () => sent.destroy(new Error('no answer')));
      sent.on('response', (response: IncomingMessage) => {
        response.resume().on('error', reject);
        response.on('end', () => resolve(response.statusCode ?? 0));
      });
      sent.end(text);
    });
  }
}

const FIGURES = { cpu: '96000m', memory: '1024Gi', gpu_count: '8', private_ip: '10.20.0.2' } as const;

const METRICS = {
  cpu_utilization_pct: 1,
  memory_utilization_pct: 2,
  total_cpu_available: 96_000,
  total_memory_available: 1_048_576,
  free_gpu_count: 8,
} as const;

function readable(userData: string): AgentSettings | null {
  try {
    return readAgentSettings(userData);
  } catch {
    return null;
  }
}
