/** What an agent may say, checked where it comes in. Fields that nobody knows are ignored. */
import { isIP } from 'node:net';
import {
  type AgentAddress,
  DEFAULT_AGENT_PROVIDER,
  type Keepalive,
  METRIC_NAMES,
  METRICS,
  type MetricName,
  type Metrics,
  type Registration,
} from '../domain/agent.ts';
import { invalidField, missingField } from '../domain/fault.ts';
import { checkMachineId, checkText } from '../domain/machine-input.ts';

const MAX_NAME = 253;
const MAX_VERSION = 64;
const MAX_GPUS = 1024;
/** Beyond it a number is not exact any more. */
const MAX_COUNT = Number.MAX_SAFE_INTEGER;

type Body = Readonly<Record<string, unknown>>;

export function isBody(body: unknown): body is Body {
  return typeof body === 'object' && body !== null && !Array.isArray(body);
}

export function readRegistration(body: Body): Registration {
  requiredString(body, 'token', 512);
  return {
    ...readAddress(body),
    facts: {
      hostname: checkText(requiredString(body, 'hostname', MAX_NAME), 'hostname', MAX_NAME),
      cpuMillicores: readCpu(requiredString(body, 'cpu', 32)),
      memoryBytes: readMemory(requiredString(body, 'memory', 32)),
      gpuCount: readGpuCount(requiredString(body, 'gpu_count', 8)),
      privateIp: readIp(requiredString(body, 'private_ip', 64)),
    },
  };
}

export function readKeepalive(body: Body): Keepalive {
  const version = body.agent_version;
  return {
    ...readAddress(body),
    agentVersion:
      version === undefined || version === null
        ? null
        : checkText(stringOf(version, 'agent_version', MAX_VERSION), 'agent_version', MAX_VERSION),
    metrics: readMetrics(body.metrics),
  };
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
  if (!(bytes > 0 && bytes <= MAX_COUNT)) {
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

function readMetrics(value: unknown): Metrics | null {
  if (value === undefined || value === null) return null;
  if (!isBody(value)) throw invalidField('metrics', 'must be an object');
  const metrics: Metrics = {};
  for (const name of METRIC_NAMES) {
    const metric = Object.hasOwn(value, name) ? value[name] : undefined;
    if (metric !== undefined && metric !== null) metrics[name] = readMetric(name, metric);
  }
  return metrics;
}

function readMetric(name: MetricName, value: unknown): number {
  if (METRICS[name].kind === 'percent') {
    if (typeof value === 'number' && value >= 0 && value <= 100) return value;
    throw invalidField(`metrics.${name}`, 'must be a number from 0 to 100');
  }
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_COUNT) return value;
  throw invalidField(`metrics.${name}`, 'must be a whole number from 0 up');
}
