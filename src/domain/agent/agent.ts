/** What an agent reports about its machine: once when it registers, and with every keepalive. */

/** The provider of machines that are known through their agent only. */
export const DEFAULT_AGENT_PROVIDER = 'generic';

/** Names of worker pools. */
export const POOL_RULE = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

interface MetricInfo {
  readonly meaning: string;
  readonly kind: 'percent' | 'count';
  /** How a pool aggregates it: percentages of different machines can't be added up. */
  readonly inPool: 'sum' | 'average';
}

/** In the order in which they are shown. */
export const METRICS = {
  cpu_utilization_pct: { meaning: 'CPU in use', kind: 'percent', inPool: 'average' },
  memory_utilization_pct: { meaning: 'memory in use', kind: 'percent', inPool: 'average' },
  total_cpu_available: { meaning: 'CPU in millicores', kind: 'count', inPool: 'sum' },
  total_memory_available: { meaning: 'memory in MB', kind: 'count', inPool: 'sum' },
  free_gpu_count: { meaning: 'GPUs without a compute process', kind: 'count', inPool: 'sum' },
  total_disk_space_bytes: { meaning: 'disk space in bytes', kind: 'count', inPool: 'sum' },
  total_disk_free_bytes: { meaning: 'free disk space in bytes', kind: 'count', inPool: 'sum' },
  worker_count: { meaning: 'workers that run', kind: 'count', inPool: 'sum' },
  container_count: { meaning: 'containers that run', kind: 'count', inPool: 'sum' },
  cache_usage_pct: { meaning: 'image cache in use', kind: 'percent', inPool: 'average' },
  cache_capacity: { meaning: 'image cache in bytes', kind: 'count', inPool: 'sum' },
} as const satisfies Record<string, MetricInfo>;

export type MetricName = keyof typeof METRICS;
export const METRIC_NAMES = Object.keys(METRICS) as MetricName[];

/** Metrics that the agent did not report are absent. */
export type Metrics = Partial<Record<MetricName, number>>;

/** GPUs of one model. */
export interface GpuModel {
  readonly model: string;
  readonly count: number;
}

/** GPUs of which only the number is known. */
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

/** Identifies the entry of an agent. */
export interface AgentAddress {
  readonly machineId: string;
  readonly providerName: string;
  readonly poolName: string;
}

/** The boot of a machine that its agent runs in. */
export interface AgentBoot {
  readonly id: string;
  /** Null: not reported. */
  readonly uptimeSeconds: number | null;
}

export interface Registration extends AgentAddress {
  readonly facts: AgentFacts;
  /** Null: not reported. */
  readonly boot: AgentBoot | null;
}

export interface Keepalive extends AgentAddress {
  /** Null: not reported. */
  readonly agentVersion: string | null;
  readonly metrics: Metrics | null;
}

/** What the last keepalives reported. */
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

/** How long an agent stays alive without a keepalive. */
export interface PresenceTtls {
  readonly keepaliveSeconds: number;
  readonly pendingSeconds: number;
}
