import { describe, expect, it } from 'vitest';
import {
  CHARTS,
  chartData,
  chartLabel,
  chartsWith,
  mergeSamples,
  type Sample,
  summaries,
} from './metric-series.ts';

const sample = (at: number, metrics: Record<string, number>): Sample => ({ at, metrics });
const chart = (title: string) => {
  const found = CHARTS.find((known) => known.title === title);
  if (!found) throw new Error(`no chart ${title}`);
  return found;
};

describe('samples', () => {
  it('are merged by time, without duplicates: the one received later wins', () => {
    const merged = mergeSamples(
      [sample(2, { a: 1 }), sample(1, { a: 1 })],
      [sample(2, { a: 9 }), sample(3, { a: 1 })],
    );
    expect(merged.map(({ at, metrics }) => [at, metrics.a])).toEqual([
      [1, 1],
      [2, 9],
      [3, 1],
    ]);
  });

  it('are limited in number', () => {
    const many = Array.from({ length: 5_000 }, (_, at) => sample(at, {}));
    const kept = mergeSamples(many);
    expect(kept).toHaveLength(2_000);
    expect(kept.at(-1)?.at).toBe(4_999);
  });
});

describe('charts', () => {
  const samples = [
    sample(1_000, { cpu_utilization_pct: 10, total_disk_space_bytes: 200, total_disk_free_bytes: 50 }),
    sample(2_000, { cpu_utilization_pct: 40.26 }),
    sample(3_000, { cpu_utilization_pct: 20, container_count: 3 }),
  ];

  it('are shown only for reported metrics', () => {
    expect(chartsWith(samples).map(({ title }) => title)).toEqual([
      'CPU in use',
      'Disk in use',
      'Containers and workers',
    ]);
    expect(chartsWith([])).toEqual([]);
  });

  it('have times in seconds, gaps for missing values, and an entry before the first sample', () => {
    expect(chartData(chart('Containers and workers'), samples)).toEqual([
      [-599, 1, 2, 3],
      [null, null, null, 3],
      [null, null, null, null],
    ]);
  });

  it('show how much of the disk is in use, not how much is free', () => {
    expect(chartData(chart('Disk in use'), samples)[1]).toEqual([null, 75, null, null]);
    expect(
      chartData(chart('Disk in use'), [
        sample(1, { total_disk_space_bytes: 0, total_disk_free_bytes: 0 }),
      ])[1],
    ).toEqual([null, null]);
  });

  it('have a text alternative', () => {
    expect(summaries(chart('CPU in use'), samples)).toEqual([
      { name: 'CPU in use', last: '20%', least: '10%', most: '40.3%' },
    ]);
    expect(chartLabel(chart('CPU in use'), samples)).toBe(
      'CPU in use: CPU in use 20% now, between 10% and 40.3%; 3 measurements',
    );
  });
});
