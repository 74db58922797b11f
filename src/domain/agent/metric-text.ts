import type { MetricName } from './agent.ts';

const STEP = 1024;
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= STEP && unit < UNITS.length - 1) {
    value /= STEP;
    unit += 1;
  }
  return `${shortNumber(value)} ${UNITS[unit]}`;
}

/** At most one decimal, and no trailing zero. */
function shortNumber(value: number): string {
  return String(Math.round(value * 10) / 10);
}

const FORMS: Readonly<Record<MetricName, (value: number) => string>> = {
  cpu_utilization_pct: percent,
  memory_utilization_pct: percent,
  total_cpu_available: (value) => `${shortNumber(value / 1000)} cores`,
  total_memory_available: (value) => bytesText(value * STEP * STEP),
  free_gpu_count: shortNumber,
  total_disk_space_bytes: bytesText,
  total_disk_free_bytes: bytesText,
  worker_count: shortNumber,
  container_count: shortNumber,
  cache_usage_pct: percent,
  cache_capacity: bytesText,
};

function percent(value: number): string {
  return `${shortNumber(value)}%`;
}

/** A metric for display; a missing one is a dash. */
export function metricText(name: MetricName, value: number | undefined): string {
  return value === undefined ? '-' : FORMS[name](value);
}
