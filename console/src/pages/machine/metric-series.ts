/** An agent's metrics as chart series. */
import { METRICS, type MetricName } from '../../../../src/domain/agent/agent.ts';
import { metricText } from '../../../../src/domain/agent/metric-text.ts';

export interface Sample {
  /** Milliseconds. */
  readonly at: number;
  readonly metrics: Readonly<Record<string, number>>;
}

interface Line {
  readonly name: string;
  readonly value: (metrics: Sample['metrics']) => number | undefined;
  readonly text: (value: number) => string;
}

export interface Chart {
  readonly title: string;
  /** A percentage has a fixed scale. */
  readonly scale: 'percent' | 'count';
  readonly lines: readonly Line[];
}

function metric(name: MetricName): Line {
  return {
    name: METRICS[name].meaning.replace(/ that .*/, ''),
    value: (metrics) => metrics[name],
    text: (value) => metricText(name, value),
  };
}

const diskInUse: Line = {
  name: 'disk in use',
  value: ({ total_disk_space_bytes: total, total_disk_free_bytes: free }) =>
    total === undefined || free === undefined || total <= 0 ? undefined : (100 * (total - free)) / total,
  text: (value) => metricText('cpu_utilization_pct', value),
};

export const CHARTS: readonly Chart[] = [
  { title: 'CPU in use', scale: METRICS.cpu_utilization_pct.kind, lines: [metric('cpu_utilization_pct')] },
  {
    title: 'Memory in use',
    scale: METRICS.memory_utilization_pct.kind,
    lines: [metric('memory_utilization_pct')],
  },
  { title: 'Disk in use', scale: 'percent', lines: [diskInUse] },
  { title: 'Free GPUs', scale: METRICS.free_gpu_count.kind, lines: [metric('free_gpu_count')] },
  {
    title: 'Containers and workers',
    scale: METRICS.container_count.kind,
    lines: [metric('container_count'), metric('worker_count')],
  },
  { title: 'Image cache in use', scale: METRICS.cache_usage_pct.kind, lines: [metric('cache_usage_pct')] },
];

const KEPT = 2_000;

/** Sorted by time; of two samples with the same time, the one received later wins. */
export function mergeSamples(...lists: readonly (readonly Sample[])[]): Sample[] {
  const byTime = new Map(lists.flat().map((sample) => [sample.at, sample]));
  return [...byTime.values()].toSorted((left, right) => left.at - right.at).slice(-KEPT);
}

/** The charts that have data. */
export function chartsWith(samples: readonly Sample[]): Chart[] {
  return CHARTS.filter(({ lines }) =>
    lines.some(({ value }) => samples.some(({ metrics }) => value(metrics) !== undefined)),
  );
}

/** The shortest time span of a chart: a single sample has no scale. */
export const LEAST_SECONDS = 600;

/** Times in seconds, then one row of values for each line, with an entry without values before the first sample. */
export function chartData({ lines }: Chart, received: readonly Sample[]): [number[], ...(number | null)[][]] {
  const [first] = received;
  const samples = first ? [{ at: first.at - LEAST_SECONDS * 1_000, metrics: {} }, ...received] : received;
  return [
    samples.map(({ at }) => at / 1_000),
    ...lines.map(({ value }) => samples.map(({ metrics }) => value(metrics) ?? null)),
  ];
}

export interface LineSummary {
  readonly name: string;
  readonly last: string;
  readonly least: string;
  readonly most: string;
}

/** The chart as text. */
export function summaries({ lines }: Chart, samples: readonly Sample[]): LineSummary[] {
  return lines.flatMap(({ name, value, text }) => {
    const values = samples.flatMap(({ metrics }) => value(metrics) ?? []);
    const last = values.at(-1);
    if (last === undefined) return [];
    const least = values.reduce((low, next) => Math.min(low, next));
    const most = values.reduce((high, next) => Math.max(high, next));
    return [{ name, last: text(last), least: text(least), most: text(most) }];
  });
}

export function chartLabel(chart: Chart, samples: readonly Sample[]): string {
  const lines = summaries(chart, samples).map(
    ({ name, last, least, most }) => `${name} ${last} now, between ${least} and ${most}`,
  );
  return `${chart.title}: ${lines.join('; ')}; ${samples.length} measurements`;
}

/** What the axes are: "percent, last 12 min". */
export function axesText({ scale }: Chart, samples: readonly Sample[]): string {
  const seconds = ((samples.at(-1)?.at ?? 0) - (samples[0]?.at ?? 0)) / 1_000;
  const minutes = Math.round(Math.max(seconds, LEAST_SECONDS) / 60);
  const time = minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
  return `${scale === 'percent' ? 'percent' : 'number'}, last ${time}`;
}
