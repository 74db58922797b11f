import type { Tone } from '../../../src/domain/tone.ts';

export interface ChartSeries {
  readonly name: string;
  readonly tone: Tone;
}

export interface ChartColumn {
  /** Milliseconds. */
  readonly at: number;
  /** In the order of the series, the lowest first. */
  readonly values: readonly number[];
}
