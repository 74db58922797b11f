/** Counts machines, in total and by several keys at once, with one scan of those that match. */
import type { Session } from '../database/database.ts';
import { type MachineSelection, machineCondition } from './machine-condition.ts';
import type { MachineKey } from './machine-keys.ts';

const MAX_VALUES = 100;

export interface CountRequest extends MachineSelection {
  readonly keys: readonly MachineKey[];
}

export interface FacetCount {
  readonly field: string;
  /** The most frequent first. The empty value counts machines without one. */
  readonly values: ReadonlyArray<{ readonly value: string; readonly machines: number }>;
}

export interface MachineCounts {
  readonly total: number;
  readonly facets: readonly FacetCount[];
}

export async function countMachines(
  session: Session,
  { keys, ...selection }: CountRequest,
): Promise<MachineCounts> {
  const parameters: string[] = [];
  const columns = keys.map((key, index) => {
    const column = `coalesce(${key.column(parameters.length + 1)}, '') AS k${index}`;
    parameters.push(...key.values);
    return column;
  });
  const { text, values } = machineCondition(selection, parameters.length + 1);
  const names = keys.map((_key, index) => `k${index}`);
  const whichSet = names.map((name, index) => `WHEN grouping(${name}) = 0 THEN ${index}`).join(' ');
  const rows = await session.run<{ facet: number; value: string | null; machines: number }>(
    '',
    `SELECT facet, value, machines FROM (
       SELECT *, row_number() OVER (PARTITION BY facet ORDER BY machines DESC, value COLLATE "C") AS place FROM (
         SELECT ${names.length > 0 ? `CASE ${whichSet} ELSE -1 END` : '-1'} AS facet,
           ${names.length > 0 ? `coalesce(${names.join(', ')})` : 'NULL::text'} AS value, count(*) AS machines
         FROM (SELECT ${['machine_id', ...columns].join(', ')} FROM machines WHERE ${text}) AS m
         GROUP BY GROUPING SETS (${['()', ...names.map((name) => `(${name})`)].join(', ')})) AS counted) AS placed
     WHERE place <= ${MAX_VALUES} ORDER BY facet, place`,
    [...parameters, ...values],
  );
  return {
    total: rows.find(({ facet }) => facet === -1)?.machines ?? 0,
    facets: keys.map(({ name }, index) => ({
      field: name,
      values: rows
        .filter(({ facet }) => facet === index)
        .map(({ value, machines }) => ({ value: value ?? '', machines })),
    })),
  };
}
