import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { FleetHistorySchema } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { endColumns, endedIn, failureColumns, percentText, stateColumns } from './fleet-history.ts';

const hour = (number: number, operations: Record<string, number>) => ({
  start: timestampFromMs(number * 3_600_000),
  operations,
});

describe('the fleet over time', () => {
  const history = create(FleetHistorySchema, {
    samples: Array.from({ length: 288 }, (_, n) => ({
      at: timestampFromMs(n * 300_000),
      machines: { IDLE: n },
    })),
    hours: [hour(1, { SUCCEEDED: 9, FAILED: 1 }), hour(2, { CANCELED: 4 })],
  });

  it('shows at most 96 samples, and always the newest', () => {
    const columns = stateColumns(history);
    expect(columns.length).toBe(96);
    expect(columns.at(-1)?.values[0]).toBe(287);
    expect(stateColumns(create(FleetHistorySchema, {}))).toEqual([]);
  });

  it('counts ends by hour, and a canceled operation is no failure', () => {
    expect(endColumns(history).map(({ values }) => values)).toEqual([
      [9, 0, 1],
      [0, 4, 0],
    ]);
    expect(failureColumns(history).map(({ values }) => values)).toEqual([[10], [0]]);
    expect(endedIn(history)).toEqual({ operations: 14, failed: 1, rate: 10 });
  });

  it.each([
    [0, '0 %'],
    [3.21, '3.2 %'],
    [12.5, '13 %'],
  ])('writes %d as %s', (percent, text) => expect(percentText(percent)).toBe(text));
});
