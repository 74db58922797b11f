/**
 * Reads and checks what an agent sends (docs/agents.md). Unknown fields are ignored. A keepalive counts whatever its details
 * are: a version or a metric that can't be stored is dropped, and the answer names it. The same holds for the models of GPUs and
 * the boot in a registration, which are optional.
 */
import { isIP } from 'node:net';
import {
  type AgentAddress,
  type AgentBoot,
  DEFAULT_AGENT_PROVIDER,
  type GpuModel,
  type Keepalive,
  METRIC_NAMES,
  METRICS,
  type MetricName,
  type Metrics,
  type Registration,
} from '../../domain/agent/agent.ts';
import { invalidField, missingField } from '../../domain/error/fault.ts';
import { checkMachineId, checkText } from '../../domain/machine/machine-input.ts';

const MAX_NAME = 253;
const MAX_VERSION = 64;
const MAX_GPUS = 1024;
/** A hundred years. */
const MAX_UPTIME_SECONDS = 36_525 * 86_400;
/** Greater numbers are not exact. */
const MAX_COUNT = Number.MAX_SAFE_INTEGER;

type Body = Readonly<Record<string, unknown>>;

export function isBody(body: unknown): body is Body {
  return typeof body === 'object' && body !== null && !Array.isArray(body);
}

/** How the agent identified itself. The body repeats the token; a certificate has none. */
export type AgentProof = 'token' | 'certificate';

export function readRegistration(body: Body, proof: AgentProof): Registration {
  if (proof === 'token') requiredString(body, 'token', 512);
  const gpuCount = readGpuCount(requiredString(body, 'gpu_count', 8));
  return {
    ...readAddress(body),
    facts: {
      hostname: checkText(requiredString(body, 'hostname', MAX_NAME), 'hostname', MAX_NAME),
      cpuMillicores: readCpu(requiredString(body, 'cpu', 32)),
      memoryBytes: readMemory(requiredString(body, 'memory', 32)),
      gpuCount,
      privateIp: readIp(requiredString(body, 'private_ip', 64)),
      gpus: readGpus(body.gpus, gpuCount),
    },
    boot: readBoot(body),
  };
}

export interface ReadKeepalive {
  readonly keepalive: Keepalive;
  /** What could not be stored, and why. */
  readonly ignored: readonly string[];
}

export function readKeepalive(body: Body): ReadKeepalive {
  const ignored: string[] = [];
  const keepalive = {
    ...readAddress(body),
    agentVersion: readVersion(body.agent_version, ignored),
    metrics: readMetrics(body.metrics, ignored),
  };
  return { keepalive, ignored };
}

function readVersion(version: unknown, ignored: string[]): string | null {
  if (version === undefined || version === null) return null;
  if (typeof version === 'string' && version.length <= MAX_VERSION && isPlain(version)) return version;
  ignored.push(`agent_version: must be a string of at most ${MAX_VERSION} printable characters`);
  return null;
}

function readAddress(body: Body): AgentAddress {
  const provider = body.provider_name;
  return {
    machineId: checkMachineId(requiredString(body, 'machine_id', 128)),
    poolName: requiredString(body, 'pool_name', 64),
    providerName:
      provider === undefined || provider === null || provider === ''
        ? DEFAULT_AGENT_PROVIDER
        : stringOf(provider, 'provider_name', 64),
  };
}

function requiredString(body: Body, field: string, maxLength: number): string {
  const value = body[field];
  if (value === undefined || value === null || value === '') throw missingField(field);
  return stringOf(value, field, maxLength);
}

function stringOf(value: unknown, field: string, maxLength: number): string {
  if (typeof value !== 'string') throw invalidField(field, 'must be a string');
  if (value.length > maxLength) throw invalidField(field, `must be at most ${maxLength} characters`);
  return value;
}

/** "8000m" and "8000" are both millicores: that is how agents in the field send it. */
function readCpu(text: string): number {
  const match = /^(\d{1,9})m?$/.exec(text);
  const value = Number(match?.[1]);
  if (!(value > 0)) throw invalidField('cpu', 'must be millicores, such as "8000m"');
  return value;
}

const MEMORY_UNITS = { '': 1, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 } as const;

function readMemory(text: string): number {
  const match = /^(\d{1,16})(Ki|Mi|Gi|Ti|)$/.exec(text);
  const bytes = Number(match?.[1]) * MEMORY_UNITS[(match?.[2] ?? '') as keyof typeof MEMORY_UNITS];
  if (!(bytes >= 0 && bytes <= MAX_COUNT)) {
    throw invalidField('memory', 'must be bytes, or a number with Ki, Mi, Gi or Ti, such as "16Gi"');
  }
  return bytes;
}

function readGpuCount(text: string): number {
  const value = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value <= MAX_GPUS))
    throw invalidField('gpu_count', `must be a number from 0 to ${MAX_GPUS}, such as "1"`);
  return value;
}

function readIp(text: string): string {
  if (isIP(text) === 0) throw invalidField('private_ip', 'must be an IPv4 or IPv6 address');
  return text;
}

const MAX_BOOT_ID = 64;

function readBoot({ boot_id: id, uptime_seconds: uptime }: Body): AgentBoot | null {
  if (typeof id !== 'string' || id === '' || id.length > MAX_BOOT_ID || !isPlain(id)) return null;
  const isUptime = typeof uptime === 'number' && uptime >= 0 && uptime <= MAX_UPTIME_SECONDS;
  return { id, uptimeSeconds: isUptime ? uptime : null };
}

const MAX_MODEL = 128;

/** The models must not add up to more than the registered number; otherwise only that number is stored. */
function readGpus(value: unknown, gpuCount: number): GpuModel[] {
  if (!Array.isArray(value) || value.length > gpuCount) return [];
  const counts = new Map<string, number>();
  for (const entry of value as unknown[]) {
    if (!isBody(entry)) return [];
    const { model, count } = entry;
    if (typeof model !== 'string' || model === '' || model.length > MAX_MODEL || !isPlain(model)) return [];
    if (typeof count !== 'number' || !Number.isInteger(count) || count < 1) return [];
    counts.set(model, (counts.get(model) ?? 0) + count);
  }
  const gpus = [...counts].map(([model, count]) => ({ model, count }));
  return gpus.reduce((sum, { count }) => sum + count, 0) <= gpuCount ? gpus : [];
}

function readMetrics(value: unknown, ignored: string[]): Metrics | null {
  if (value === undefined || value === null) return null;
  if (!isBody(value)) {
    ignored.push('metrics: must be an object');
    return null;
  }
  const metrics: Metrics = {};
  // Names of metrics are never the name of a property that every object has.
  for (const { name, most } of METRIC_LIMITS) {
    const metric = value[name];
    if (metric === undefined || metric === null) continue;
    if (isMetric(metric, most)) metrics[name] = metric;
    else ignored.push(`metrics.${name}: must be ${METRIC_RULES[METRICS[name].kind]}`);
  }
  return metrics;
}

const METRIC_RULES = {
  percent: 'a number from 0 to 100',
  count: 'a whole number from 0 up',
} as const satisfies Record<(typeof METRICS)[MetricName]['kind'], string>;

/** A percentage may have a fraction, a count may not. */
const METRIC_LIMITS = METRIC_NAMES.map((name) => ({
  name,
  most: METRICS[name].kind === 'percent' ? ('percent' as const) : MAX_COUNT,
}));

function isMetric(value: unknown, most: number | 'percent'): value is number {
  if (typeof value !== 'number' || !(value >= 0)) return false;
  return most === 'percent' ? value <= 100 : Number.isInteger(value) && value <= most;
}

/** Without control characters and unpaired surrogates, which PostgreSQL does not store. */
function isPlain(text: string): boolean {
  return !/[\p{Cc}\p{Cs}]/u.test(text);
}
