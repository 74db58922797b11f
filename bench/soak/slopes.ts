/** Whether a figure stays level over a long run: the slope of a straight line through its samples, and a verdict. */

export interface Sample {
  readonly seconds: number;
  readonly value: number;
}

export interface Trend {
  readonly what: string;
  readonly first: number;
  readonly last: number;
  /** By the line, for an hour. */
  readonly perHour: number;
  /** What the line grows by within the run, of the mean. */
  readonly growth: number;
  readonly verdict: 'level' | 'grows' | 'too few samples';
}

/** What a run may begin with before it counts: caches fill, and the heap finds its size. */
const WARM_UP_SHARE = 1 / 3;
const LEAST_SAMPLES = 10;

export function trendOf(what: string, all: readonly Sample[], mostGrowth: number): Trend {
  const samples = all.slice(Math.floor(all.length * WARM_UP_SHARE));
  const first = samples[0]?.value ?? Number.NaN;
  const last = samples.at(-1)?.value ?? Number.NaN;
  const perSecond = slope(samples);
  const span = (samples.at(-1)?.seconds ?? 0) - (samples[0]?.seconds ?? 0);
  const mean = meanOf(samples.map(({ value }) => value));
  const growth = mean === 0 ? 0 : (perSecond * span) / mean;
  const trend = { what, first, last, perHour: perSecond * 3_600, growth };
  if (samples.length < LEAST_SAMPLES) return { ...trend, verdict: 'too few samples' };
  return { ...trend, verdict: growth > mostGrowth ? 'grows' : 'level' };
}

/** Of the straight line with the least squares. */
export function slope(samples: readonly Sample[]): number {
  const x = meanOf(samples.map(({ seconds }) => seconds));
  const y = meanOf(samples.map(({ value }) => value));
  const over = samples.reduce((sum, { seconds, value }) => sum + (seconds - x) * (value - y), 0);
  const under = samples.reduce((sum, { seconds }) => sum + (seconds - x) ** 2, 0);
  return under === 0 ? 0 : over / under;
}

const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
