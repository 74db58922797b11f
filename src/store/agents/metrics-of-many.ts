import { METRIC_NAMES, METRICS, type Metrics } from '../../domain/agent/agent.ts';

/** The sum or the average of each metric over the agents of a pool. */
export class MetricsOfMany {
  readonly #sums = new Map<string, { sum: number; count: number }>();

  add(metrics: Metrics): void {
    for (const name of METRIC_NAMES) {
      const value = metrics[name];
      if (value === undefined) continue;
      const entry = this.#sums.get(name) ?? { sum: 0, count: 0 };
      entry.sum += value;
      entry.count += 1;
      this.#sums.set(name, entry);
    }
  }

  get result(): Metrics {
    const metrics: Metrics = {};
    for (const name of METRIC_NAMES) {
      const entry = this.#sums.get(name);
      if (entry) metrics[name] = METRICS[name].inPool === 'sum' ? entry.sum : entry.sum / entry.count;
    }
    return metrics;
  }
}
