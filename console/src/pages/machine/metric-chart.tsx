/** A small chart. Its code is loaded only when there are metrics to show. */
import { useEffect, useRef, useState } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { clockText } from '../../ui/clock-text.ts';
import { zone } from '../../ui/zone.ts';
import {
  axesText,
  type Chart,
  chartData,
  chartLabel,
  LEAST_SECONDS,
  type Sample,
  summaries,
} from './metric-series.ts';

const HEIGHT = 136;
const AXIS_WIDTH = 52;

export function MetricChart({ chart, samples }: { chart: Chart; samples: readonly Sample[] }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(samples);
  latest.current = samples;
  const [pointed, setPointed] = useState<number | null>(null);
  const colours = useColours(place);
  useEffect(() => {
    const element = place.current;
    if (!element || colours.length === 0) return;
    const made = new uPlot(
      options(chart, element.clientWidth, colours, setPointed),
      chartData(chart, latest.current) as uPlot.AlignedData,
      element,
    );
    plot.current = made;
    const watched = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    watched.observe(element);
    return () => {
      watched.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [chart, colours]);
  useEffect(() => {
    plot.current?.setData(chartData(chart, samples) as uPlot.AlignedData);
  }, [chart, samples]);
  const lines = summaries(chart, samples);
  // The chart's data has one entry before the first sample.
  const at = pointed === null ? undefined : samples[pointed - 1];
  return (
    <figure className="chart">
      <figcaption>
        <span className="title">{chart.title}</span>
        <span className="numeric">
          {chart.lines.map(({ name, value, text }, line) => {
            const shown = at ? value(at.metrics) : undefined;
            const last = lines.find((summary) => summary.name === name)?.last ?? '–';
            return (
              <span key={name} className={`line line-${line}`}>
                {chart.lines.length > 1 && `${name} `}
                {at ? (shown === undefined ? '–' : text(shown)) : last}
              </span>
            );
          })}
        </span>
      </figcaption>
      <div ref={place} className="plot" role="img" aria-label={chartLabel(chart, samples)}>
        <span className="colour-text" />
        <span className="colour-grid" />
        <span className="colour-line-0" />
        <span className="colour-line-1" />
      </div>
      <p className="soft numeric">
        {axesText(chart, samples)} ·{' '}
        {lines.map(({ name, least, most }) => `${name}: ${least} to ${most}`).join(' · ')}
      </p>
    </figure>
  );
}

function options(
  { scale, lines }: Chart,
  width: number,
  [text = '', grid = '', ...strokes]: readonly string[],
  onPoint: (index: number | null) => void,
): uPlot.Options {
  const axis = {
    stroke: text,
    grid: { stroke: grid, width: 1 },
    ticks: { show: false },
    font: '11px system-ui',
  } as const;
  return {
    width,
    height: HEIGHT,
    padding: [6, 6, 0, 0],
    legend: { show: false },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC'),
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      x: { time: true, range: (_plot, from, to) => [Math.min(from + LEAST_SECONDS, to - LEAST_SECONDS), to] },
      y: {
        range: (_plot, _from, to) =>
          scale === 'percent' ? [0, 100] : [0, Math.max(1, Math.ceil((to ?? 0) * 1.1))],
      },
    },
    axes: [
      { ...axis, size: 22, space: 70, values: (_plot, ticks) => ticks.map(clock) },
      {
        ...axis,
        size: AXIS_WIDTH,
        space: 30,
        values: (_plot, ticks) => ticks.map((tick) => lines[0]?.text(tick) ?? ''),
      },
    ],
    series: [{}, ...lines.map((_, line) => ({ stroke: strokes[line] ?? text, width: 1.5, spanGaps: true }))],
    hooks: { setCursor: [(made) => onPoint(made.cursor.idx ?? null)] },
  };
}

function clock(seconds: number): string {
  return clockText(seconds * 1_000, zone()).slice(11, 16);
}

/** A canvas cannot use the style sheet's colours: they are read from elements, again when the theme changes. */
function useColours(place: { readonly current: HTMLElement | null }): readonly string[] {
  const [colours, setColours] = useState<readonly string[]>([]);
  useEffect(() => {
    const read = () => {
      const samples = place.current?.querySelectorAll('[class^="colour-"]') ?? [];
      const next = Array.from(samples, (sample) => getComputedStyle(sample).color);
      setColours((before) => (before.join() === next.join() ? before : next));
    };
    read();
    const system = matchMedia('(prefers-color-scheme: dark)');
    system.addEventListener('change', read);
    const chosen = new MutationObserver(read);
    chosen.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => {
      system.removeEventListener('change', read);
      chosen.disconnect();
    };
  }, [place]);
  return colours;
}
