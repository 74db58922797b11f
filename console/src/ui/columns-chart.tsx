/** Stacked columns over time. Read without pointing at them: the largest value, the times and what each colour is are written. */
import { type ReactNode, useId } from 'react';
import type { ChartColumn, ChartSeries } from './chart-columns.ts';
import { clockText, clockWithZone, type Zone } from './clock-text.ts';
import { useZone } from './zone.ts';

export interface ColumnsChartProps {
  readonly title: string;
  /** What it says, in a few words. */
  readonly summary: ReactNode;
  readonly series: readonly ChartSeries[];
  readonly columns: readonly ChartColumn[];
  /** The value at the top of the scale; the largest column without it. */
  readonly top?: number;
  readonly text?: (value: number) => string;
  /** What the legend counts: all columns, or the newest one alone. */
  readonly legend?: 'sum' | 'newest';
}

const WIDTH = 600;
const HEIGHT = 120;
const DAY_MS = 86_400_000;

export function ColumnsChart(props: ColumnsChartProps) {
  const { title, summary, series, columns, legend = 'newest' } = props;
  const { text = (value: number) => value.toLocaleString('en') } = props;
  const counted = (line: number) =>
    columns.slice(legend === 'sum' ? 0 : -1).reduce((sum, { values }) => sum + (values[line] ?? 0), 0);
  const titleId = useId();
  const sums = columns.map(({ values }) => values.reduce((sum, value) => sum + value, 0));
  const top = props.top ?? Math.max(1, ...sums);
  return (
    <figure className="columns-chart" aria-labelledby={titleId}>
      <figcaption>
        <strong id={titleId}>{title}</strong>
        <span className="soft">{summary}</span>
      </figcaption>
      <div className="columns-plot">
        <span className="columns-scale soft numeric" aria-hidden="true">
          <span>{text(top)}</span>
          <span>0</span>
        </span>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={chartText(props, sums, text)}
        >
          {columns.map(({ at, values }, index) => (
            <Column key={at} values={values} series={series} top={top} index={index} of={columns.length} />
          ))}
        </svg>
      </div>
      <TimeAxis columns={columns} />
      {series.length > 1 && (
        <ul className="columns-legend">
          {series.map(({ name, tone }, line) => (
            <li key={name} className={`tone-${tone}`}>
              {name} <span className="soft numeric">{text(counted(line))}</span>
            </li>
          ))}
        </ul>
      )}
    </figure>
  );
}

interface ColumnProps {
  readonly values: readonly number[];
  readonly series: readonly ChartSeries[];
  readonly top: number;
  readonly index: number;
  readonly of: number;
}

function Column({ values, series, top, index, of }: ColumnProps) {
  const width = WIDTH / of;
  const gap = Math.min(2, width * 0.15);
  let below = 0;
  return (
    <g>
      {series.map(({ name, tone }, line) => {
        const height = ((values[line] ?? 0) / top) * HEIGHT;
        if (height === 0) return null;
        below += height;
        return (
          <rect
            key={name}
            className={`tone-${tone}`}
            x={index * width}
            y={HEIGHT - below}
            width={width - gap}
            height={height}
          />
        );
      })}
    </g>
  );
}

const HOUR_MS = 3_600_000;

/** Whole hours or days of the zone: 06:00, 12:00, 18:00. */
function roundTimes(first: number, length: number, zone: Zone): number[] {
  const step = length > 2 * DAY_MS ? DAY_MS : length > 12 * HOUR_MS ? 4 * HOUR_MS : HOUR_MS;
  const shift = zone === 'utc' ? 0 : new Date(first).getTimezoneOffset() * 60_000;
  const start = Math.ceil((first - shift) / step) * step + shift;
  const all = Array.from(
    { length: Math.floor((first + length - start) / step) + 1 },
    (_, n) => start + n * step,
  );
  // The text of one at the end would not fit.
  return all.filter((at) => (at - first) / length < 0.95);
}

/** Round times between the first and the last column. */
function TimeAxis({ columns }: { columns: readonly ChartColumn[] }) {
  const zone = useZone();
  const first = columns[0]?.at ?? 0;
  const length = (columns.at(-1)?.at ?? first) - first;
  const ticks = roundTimes(first, length, zone);
  return (
    <div className="columns-axis soft numeric" aria-hidden="true">
      {length > 0 &&
        ticks.map((at) => (
          <span
            key={at}
            title={clockWithZone(at, zone)}
            style={{ left: `${(100 * (at - first)) / length}%` }}
          >
            {length > 2 * DAY_MS ? clockText(at, zone).slice(5, 10) : clockText(at, zone).slice(11, 16)}
          </span>
        ))}
    </div>
  );
}

function chartText(
  { title, series, columns }: ColumnsChartProps,
  sums: readonly number[],
  text: (value: number) => string,
): string {
  const last = columns.at(-1)?.values ?? [];
  const now = series.map(({ name }, line) => `${name} ${text(last[line] ?? 0)}`).join(', ');
  return `${title}: now ${now}; between ${text(Math.min(...sums))} and ${text(Math.max(...sums))}`;
}
