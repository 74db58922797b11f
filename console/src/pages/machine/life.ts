/** A machine's life as spans of time: one row for each layer, and one for its operations. */
import { type Tone, type ToneLayer, toneOf } from '../../../../src/domain/tone.ts';

export interface LifeEvent {
  readonly kind: string;
  readonly from: string;
  readonly to: string;
  /** Milliseconds. */
  readonly at: number;
}

export interface LifeOperation {
  readonly operationId: string;
  readonly type: string;
  readonly phase: string;
  readonly startedAt: number;
  /** Null: it has not ended. */
  readonly endedAt: number | null;
}

export interface LifeSpan {
  readonly key: string;
  readonly text: string;
  readonly tone: Tone;
  readonly from: number;
  readonly to: number;
  /** Empty: none. */
  readonly operationId: string;
}

export interface LifeRow {
  readonly title: string;
  readonly spans: readonly LifeSpan[];
}

export interface Period {
  readonly from: number;
  readonly to: number;
}

export const LIFE_LAYERS = {
  phase: 'Phase',
  service: 'Service',
  install: 'Install',
  presence: 'Agent',
} as const satisfies Partial<Record<ToneLayer, string>>;
type LifeLayer = keyof typeof LIFE_LAYERS;

/**
 * The rows that have something to show in the period. The events are those of the layers, in any order. Before the first known
 * change a layer was in the state that the change left.
 */
export function lifeRows(
  events: readonly LifeEvent[],
  operations: readonly LifeOperation[],
  now: Readonly<Record<LifeLayer, string>>,
  period: Period,
): LifeRow[] {
  const layers = (Object.keys(LIFE_LAYERS) as LifeLayer[]).map(
    (layer): LifeRow => ({
      title: LIFE_LAYERS[layer],
      spans: layerSpans(
        layer,
        events.filter(({ kind }) => kind === layer),
        now[layer],
        period,
      ),
    }),
  );
  const work: LifeRow = {
    title: 'Operations',
    spans: operations.flatMap(({ operationId, type, phase, startedAt, endedAt }) =>
      within(
        {
          key: operationId,
          text: `${type} ${phase}`,
          tone: toneOf('operation_phase', phase),
          ...{ from: startedAt, to: endedAt ?? period.to, operationId },
        },
        period,
      ),
    ),
  };
  return [...layers, work].filter(({ spans }) => spans.length > 0);
}

function layerSpans(
  layer: LifeLayer,
  events: readonly LifeEvent[],
  current: string,
  period: Period,
): LifeSpan[] {
  const changes = events.toSorted((left, right) => left.at - right.at);
  const starts = [
    { state: changes[0]?.from ?? current, at: period.from },
    ...changes.map(({ to, at }) => ({ state: to, at })),
  ];
  return starts.flatMap(({ state, at }, index) => {
    if (state === '') return [];
    const to = starts[index + 1]?.at ?? period.to;
    const span = { key: `${at} ${state}`, text: state, tone: toneOf(layer, state), from: at, to };
    return within({ ...span, operationId: '' }, period);
  });
}

function within(span: LifeSpan, { from, to }: Period): LifeSpan[] {
  if (span.to <= from || span.from >= to) return [];
  return [{ ...span, from: Math.max(span.from, from), to: Math.min(span.to, to) }];
}

const STEPS_MS = [
  60_000,
  5 * 60_000,
  15 * 60_000,
  3_600_000,
  3 * 3_600_000,
  6 * 3_600_000,
  86_400_000,
  2 * 86_400_000,
  7 * 86_400_000,
  28 * 86_400_000,
] as const;
const MOST_TICKS = 6;

/** Round times for the axis, at most six. */
export function ticksOf({ from, to }: Period): { readonly stepMs: number; readonly ticks: number[] } {
  const stepMs = STEPS_MS.find((step) => (to - from) / step <= MOST_TICKS) ?? (to - from) / MOST_TICKS;
  const ticks: number[] = [];
  for (let at = Math.ceil(from / stepMs) * stepMs; at <= to; at += stepMs) ticks.push(at);
  return { stepMs, ticks };
}
