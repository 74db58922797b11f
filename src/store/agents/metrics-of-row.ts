import { METRIC_NAMES, type Metrics } from '../../domain/agent/agent.ts';

/** A column without a value is a metric that was not reported. */
export function metricsOfRow(row: { readonly [name in keyof Metrics]: number | null }): Metrics {
  const metrics: Metrics = {};
  for (const name of METRIC_NAMES) {
    const value = row[name];
    if (value !== undefined && value !== null) metrics[name] = value;
  }
  return metrics;
}
