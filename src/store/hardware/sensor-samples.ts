/**
 * What sensors read over a day. A sample is the readings of one machine at one time, each at the place of its name in the machine's layout.
 * Four hours of samples are a partition, and seven are used in turn, so that the oldest hours are removed with one TRUNCATE
 * (migration 0095): nothing is deleted row by row, and the size is bounded by machines and interval.
 */
import { numberArray } from '../database/array-literal.ts';
import type { Session } from '../database/database.ts';

const SLOTS = 7;
const SLOT_SECONDS = 4 * 3600;
/** One slot less than there are: the current one does not cover its whole time yet. */
export const KEPT_HOURS = ((SLOTS - 1) * SLOT_SECONDS) / 3600;
/** More names than this are not kept: a BMC that renames its sensors all the time fills nothing. */
const MAX_NAMES = 512;
const MAX_POINTS = 300;

const PERIOD_NOW = `floor(extract(epoch FROM now()) / ${SLOT_SECONDS})::bigint`;

const OPEN = `
  UPDATE sensor_slots SET period = ${PERIOD_NOW}
  WHERE slot = ${PERIOD_NOW} % ${SLOTS} AND period <> ${PERIOD_NOW} RETURNING slot`;

const STORE = `
  INSERT INTO sensor_samples (slot, machine_id, at, readings)
  VALUES ((${PERIOD_NOW} % ${SLOTS})::smallint, $1, $2, $3::real[])`;

/** In the transaction of the reading. */
export async function storeSample(
  session: Session,
  machineId: string,
  at: Date,
  values: ReadonlyArray<number | null>,
): Promise<void> {
  const [opened] = await session.run<{ slot: number }>('open-sensor-slot', OPEN);
  if (opened) await session.run('', `TRUNCATE sensor_samples_${opened.slot}`);
  await session.run('store-sensor-sample', STORE, [machineId, at, numberArray(values)]);
}

/** The layout with new names at its end. */
export function extendedLayout(layout: readonly string[], names: readonly string[]): string[] {
  const known = new Set(layout);
  return [...layout, ...names.filter((name) => !known.has(name))].slice(0, MAX_NAMES);
}

export interface SensorPoint {
  readonly at: Date;
  readonly value: number;
}

const HISTORY = `
  SELECT DISTINCT ON (part) floor(extract(epoch FROM at) / $3) AS part, at, readings FROM sensor_samples
  WHERE machine_id = $1 AND at > now() - $2 * interval '1 s' ORDER BY part, at DESC`;

/** The points of each sensor, the oldest first; at most 300 of each, evenly over the time. */
export async function readSensorHistory(
  session: Session,
  machineId: string,
  layout: readonly string[],
  hours: number,
): Promise<Map<string, SensorPoint[]>> {
  const seconds = Math.min(hours, KEPT_HOURS) * 3600;
  const rows = await session.run<{ at: Date; readings: (number | null)[] }>('read-sensor-history', HISTORY, [
    machineId,
    seconds,
    Math.max(1, Math.floor(seconds / MAX_POINTS)),
  ]);
  return new Map(
    layout.map((name, place) => [
      name,
      rows.flatMap(({ at, readings }) => {
        const value = readings[place] ?? null;
        return value === null ? [] : [{ at, value }];
      }),
    ]),
  );
}
