/**
 * Agents that send keepalives, each with a number that grows. The number is a metric, so the store says which keepalive it
 * has last; one that was answered must never be missing. Before a fault strikes some agents stop sending: what they sent
 * last is not overwritten, and must be there afterwards.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { PatientClient } from '../chaos/patient-client.ts';
import type { ReplicaSet } from '../chaos/replica-set.ts';
import type { Random } from '../chaos/seeded-random.ts';
import type { Rows } from '../chaos/storm-database.ts';

const POOL = 'gpu';
const EVERY_MS = 500;
const CALL_MS = 3_000;
/** The code of docs/agents.md for a keepalive that could not be stored; an agent tries again. */
const NOT_STORED = 'keepalive_failed';

interface Agent {
  readonly machineId: string;
  readonly token: string;
  isPaused: boolean;
  sent: number;
  acknowledged: number;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

export class AgentWork {
  readonly problems: string[] = [];
  acknowledged = 0;
  readonly #replicas: ReplicaSet;
  readonly #client: PatientClient;
  readonly #random: Random;
  readonly #agents: Agent[] = [];
  #stopping = false;
  #paused = 0;

  constructor(replicas: ReplicaSet, client: PatientClient, random: Random) {
    this.#replicas = replicas;
    this.#client = client;
    this.#random = random;
  }

  async prepare(count: number): Promise<void> {
    if (count === 0) return;
    await this.#client.call(this.#random, (api, signal) => api.admin.createPool({ name: POOL }, { signal }));
    for (let index = 0; index < count; index += 1) {
      const answer = await this.#client.call(this.#random, (api, signal) =>
        api.admin.createMachine({ pool: POOL }, { signal }),
      );
      if (answer.outcome === 'refused') throw answer.error;
      const machineId = answer.value.machine?.machineId ?? '';
      const agent = { machineId, token: answer.value.token, isPaused: false, sent: 0, acknowledged: 0 };
      this.#agents.push(agent);
      await this.#untilAnswered(agent, 'register', registrationOf(agent));
    }
  }

  async run(): Promise<void> {
    await Promise.all(this.#agents.map((agent) => this.#keepAlive(agent)));
  }

  stop(): void {
    this.#stopping = true;
  }

  /** So many more agents send nothing more; what is under way still counts when it is answered. */
  pause(count: number): void {
    for (const agent of this.#agents.slice(this.#paused, this.#paused + count)) agent.isPaused = true;
    this.#paused += count;
  }

  /**
   * Until each agent that still sends was answered for one that it sends from now on. What was on its way through a
   * fault and never answered may be stored late, over a newer one; the next one sets that right.
   */
  async untilAnswered(): Promise<void> {
    const sent = new Map(this.#agents.map((agent) => [agent, agent.sent]));
    const isWaiting = (agent: Agent) => !agent.isPaused && agent.acknowledged <= (sent.get(agent) ?? 0);
    while (this.#agents.some(isWaiting)) await sleep(50);
  }

  /** Keepalives that were answered and are not there, and agents that are not ready. */
  async missing(database: Rows, among: 'all' | 'paused'): Promise<string[]> {
    // Before the rows are read: what is answered from here on may not be among them.
    const answered = this.#agents
      .filter(({ isPaused }) => among === 'all' || isPaused)
      .map(({ machineId, acknowledged }) => ({ machineId, acknowledged }));
    const rows = await database.rows<{ machine_id: string; status: string; stored: number | null }>(
      'SELECT machine_id, status, worker_count AS stored FROM agent_presence',
    );
    const stored = new Map(rows.map((row) => [row.machine_id, row]));
    return answered.flatMap(({ machineId, acknowledged }) => {
      const row = stored.get(machineId);
      if (!row) return [`agent ${machineId} is gone`];
      if (row.status !== 'ready') return [`agent ${machineId} is ${row.status}`];
      if ((row.stored ?? 0) >= acknowledged) return [];
      return [`keepalive ${acknowledged} of ${machineId} was answered, ${row.stored} is stored`];
    });
  }

  async #keepAlive(agent: Agent): Promise<void> {
    while (!this.#stopping && !agent.isPaused) {
      agent.sent += 1;
      const number = agent.sent;
      const answer = await this.#post(agent, 'keepalive', keepaliveOf(agent, number));
      if (answer?.status === 200) {
        agent.acknowledged = number;
        this.acknowledged += 1;
      } else if (answer !== null && answer.status !== 503 && !answer.text.includes(NOT_STORED)) {
        this.problems.push(`keepalive ${number} of ${agent.machineId}: HTTP ${answer.status} ${answer.text}`);
      }
      await sleep(EVERY_MS);
    }
  }

  async #untilAnswered(agent: Agent, call: 'register', body: unknown): Promise<void> {
    while ((await this.#post(agent, call, body))?.status !== 200) await sleep(100);
  }

  /** Null: no answer. */
  async #post(agent: Agent, call: 'register' | 'keepalive', body: unknown): Promise<Answer | null> {
    const [first, ...others] = this.#replicas.ready;
    if (!first) return null;
    const { httpPort } = this.#random.pick([first, ...others]);
    try {
      const answer = await fetch(`http://127.0.0.1:${httpPort}/api/v1/machine/${call}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${agent.token}` },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(CALL_MS),
      });
      return { status: answer.status, text: await answer.text() };
    } catch {
      return null;
    }
  }
}

const ADDRESS = { provider_name: 'generic', pool_name: POOL };

function registrationOf({ machineId, token }: Agent): unknown {
  const facts = {
    hostname: machineId,
    cpu: '8000m',
    memory: '16Gi',
    gpu_count: '1',
    private_ip: '192.0.2.1',
  };
  return { token, machine_id: machineId, ...ADDRESS, ...facts };
}

function keepaliveOf({ machineId }: Agent, number: number): unknown {
  return { machine_id: machineId, ...ADDRESS, agent_version: 'test', metrics: { worker_count: number } };
}
