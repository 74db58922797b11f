/** The fleet's history as columns of charts. */
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import { EFFECTIVE_STATES } from '../../../../src/domain/machine/effective-state.ts';
import type { FleetHistory } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import type { ChartColumn, ChartSeries } from '../../ui/chart-columns.ts';

/** What is well is at the bottom and gray: what is not stands out on top of it. */
const STATES_UPWARDS = ['IDLE', 'NEW', 'MAINTENANCE', 'BUSY', 'ATTENTION', 'BLOCKED'] as const;
export const STATE_SERIES: readonly ChartSeries[] = STATES_UPWARDS.map((name) => ({
  name,
  tone: EFFECTIVE_STATES[name].colour,
}));
export const END_SERIES = [
  { name: 'succeeded', phase: 'SUCCEEDED', tone: 'green' },
  { name: 'canceled', phase: 'CANCELED', tone: 'gray' },
  { name: 'failed', phase: 'FAILED', tone: 'red' },
] as const satisfies ReadonlyArray<ChartSeries & { readonly phase: string }>;

/** More columns than this look alike. */
const MOST_COLUMNS = 96;

export function stateColumns({ samples }: FleetHistory): ChartColumn[] {
  const every = Math.ceil(samples.length / MOST_COLUMNS);
  // From the newest back, so that the last column is the newest sample.
  return samples
    .filter((_, index) => (samples.length - 1 - index) % Math.max(1, every) === 0)
    .map(({ at, machines }) => ({
      at: timeOf(at),
      values: STATES_UPWARDS.map((state) => machines[state] ?? 0),
    }));
}

export function endColumns({ hours }: FleetHistory): ChartColumn[] {
  return hours.map(({ start, operations }) => ({
    at: timeOf(start),
    values: END_SERIES.map(({ phase }) => operations[phase] ?? 0),
  }));
}

/** In percent of those that succeeded or failed; canceling is no failure. */
export function failureColumns({ hours }: FleetHistory): ChartColumn[] {
  return hours.map(({ start, operations }) => ({
    at: timeOf(start),
    values: [failureRate(operations.SUCCEEDED ?? 0, operations.FAILED ?? 0)],
  }));
}

export interface Ended {
  readonly operations: number;
  readonly failed: number;
  readonly rate: number;
}

export function endedIn({ hours }: FleetHistory): Ended {
  const sum = (phase: string) => hours.reduce((all, { operations }) => all + (operations[phase] ?? 0), 0);
  const failed = sum('FAILED');
  const succeeded = sum('SUCCEEDED');
  return { operations: succeeded + failed + sum('CANCELED'), failed, rate: failureRate(succeeded, failed) };
}

function failureRate(succeeded: number, failed: number): number {
  return failed === 0 ? 0 : (100 * failed) / (succeeded + failed);
}

export function percentText(percent: number): string {
  return `${percent >= 10 || percent === 0 ? percent.toFixed(0) : percent.toFixed(1)} %`;
}

function timeOf(at: Timestamp | undefined): number {
  return at ? timestampMs(at) : 0;
}
