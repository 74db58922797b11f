/** Series of sensors as charts, the most telling ones first. */
import { SENSOR_KIND_NAMES } from '../../../../../src/domain/hardware/sensor.ts';
import type { SensorSeries } from '../../../../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { msOf } from '../../../ui/time.tsx';
import type { Chart, Sample } from '../metric-series.ts';

export interface SensorChart {
  readonly chart: Chart;
  readonly samples: readonly Sample[];
}

export function sensorChart({ name, unit, points }: SensorSeries): SensorChart {
  const text = (value: number) => `${Math.round(value * 100) / 100} ${unit}`.trim();
  return {
    chart: { title: name, scale: 'count', lines: [{ name, value: (metrics) => metrics[name], text }] },
    samples: points.map(({ at, value }) => ({ at: msOf(at) ?? 0, metrics: { [name]: value } })),
  };
}

/** By kind, and within a kind the highest first: the hottest part, the largest consumer. */
export function inOrderOfInterest(series: readonly SensorSeries[]): SensorSeries[] {
  const places: readonly string[] = SENSOR_KIND_NAMES;
  const last = ({ points }: SensorSeries) => points.at(-1)?.value ?? 0;
  return series.toSorted(
    (left, right) => places.indexOf(left.kind) - places.indexOf(right.kind) || last(right) - last(left),
  );
}

/** Two of each kind are shown at first. */
const FIRST_OF_KIND = 2;
const FIRST_KINDS: readonly string[] = ['temperature', 'fan', 'power'];

export function firstSeries(series: readonly SensorSeries[]): SensorSeries[] {
  const sorted = inOrderOfInterest(series);
  return FIRST_KINDS.flatMap((kind) => sorted.filter((one) => one.kind === kind).slice(0, FIRST_OF_KIND));
}
