/** What an agent says about its machine: once when it registers, and with every keepalive. */

/** The provider of machines that nobody but their own agent speaks for. */
export const DEFAULT_AGENT_PROVIDER = 'generic';

/** Names of worker pools. */
export const POOL_RULE = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

interface MetricInfo {
  readonly meaning: string;
  readonly kind: 'percent' | 'count';
  /** What a pool shows of it: percentages of unlike machines can't be added up. */
  readonly inPool: 'sum' | 'average';
}

/** In the order in which they are shown. */
export const METRICS = {
  cpu_utilization_pct: { meaning: 'CPU in use', kind: 'percent', inPool: 'average' },
  memory_utilization_pct: { meaning: 'memory in use', kind: 'percent', inPool: 'average' },
  total_cpu_available: { meaning: 'CPU in millicores', kind: 'count', inPool: 'sum' },
  total_memory_available: { meaning: 'memory in MB', kind: 'count', inPool: 'sum' },
  free_gpu_count: { meaning: 'GPUs that nothing runs on', kind: 'count', inPool: 'sum' },
  total_disk_space_bytes: { meaning: 'disk space in bytes', kind: 'count', inPool: 'sum' },
  total_disk_free_bytes: { meaning: 'free disk space in bytes', kind: 'count', inPool: 'sum' },
  worker_count: { meaning: 'workers that run', kind: 'count', inPool: 'sum' },
  container_count: { meaning: 'containers that run', kind: 'count', inPool: 'sum' },
  cache_usage_pct: { meaning: 'image cache in use', kind: 'percent', inPool: 'average' },
  cache_capacity: { meaning: 'image cache in bytes', kind: 'count', inPool: 'sum' },
} as const satisfies Record<string, MetricInfo>;

export type MetricName = keyof typeof METRICS;
export const METRIC_NAMES = Object.keys(METRICS) as MetricName[];

/** What an agent did not tell is absent. */
export type Metrics = Partial<Record<MetricName, number>>;

/** GPUs of one model. */
export interface GpuModel {
  readonly model: string;
  readonly count: number;
}

/** GPUs of which nothing is known but their number. */
export const UNKNOWN_GPU = 'unknown';

/** The machine as its agent described it when it registered. */
export interface AgentFacts {
  readonly hostname: string;
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
  readonly gpuCount: number;
  readonly privateIp: string;
  /** By model; empty where the agent reports only how many there are. */
  readonly gpus: readonly GpuModel[];
}

/** Which entry a call is about. */
export interface AgentAddress {
  readonly machineId: string;
  readonly providerName: string;
  readonly poolName: string;
}

export interface Registration extends AgentAddress {
  readonly facts: AgentFacts;
}

export interface Keepalive extends AgentAddress {
  /** Null: not said. */
  readonly agentVersion: string | null;
  readonly metrics: Metrics | null;
}

/** What the last keepalives told. */
export interface Vitals {
  readonly agentVersion: string;
  readonly lastKeepaliveAt: Date | null;
  /** Null when it has expired. */
  readonly expiresAt: Date | null;
  readonly metrics: Metrics;
}

export interface Agent {
  readonly machineId: string;
  /** Null until it registers. */
  readonly facts: AgentFacts | null;
  readonly registeredAt: Date | null;
  readonly vitals: Vitals;
}

/** How long an agent may be silent. */
export interface PresenceTtls {
  readonly keepaliveSeconds: number;
  readonly pendingSeconds: number;
}
