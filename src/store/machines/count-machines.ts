/** Counts machines, in total and by several keys at once. */
import { areCellsEnough, asksForTime, cellsFor, isCellKey, isTimedKey } from '../counts/cells.ts';
import { areCellsReadable, areValuesReadable } from '../counts/count-state.ts';
import { largestLabelValues, largestValues, listOfRacks, type ValueCount } from '../counts/value-counts.ts';
import type { Session } from '../database/database.ts';
import { type MachineSelection, machineCondition } from './machine-condition.ts';
import { labelOf, type MachineKey } from './machine-keys.ts';

const MAX_VALUES = 100;

export interface CountRequest extends MachineSelection {
  readonly keys: readonly MachineKey[];
  /** Values of each key, at most. */
  readonly most?: number;
  /** The name of the prepared statement, for a caller whose keys are always the same. */
  readonly preparedName?: string;
}

export interface FacetCount {
  readonly field: string;
  /** The most frequent first. The empty value counts machines without one. */
  readonly values: readonly ValueCount[];
}

export interface MachineCounts {
  readonly total: number;
  readonly facets: readonly FacetCount[];
}

/**
 * Counts that cells determine are read from them, and cost the same for any fleet. Others are counted machine by machine, and
 * cost as much as there are machines that match. The session is one snapshot, or there is one statement.
 */
export async function countMachines(session: Session, request: CountRequest): Promise<MachineCounts> {
  const { keys, most = MAX_VALUES, ...selection } = request;
  const fits = areCellsEnough(selection.filter) && areCellsEnough(selection.scope?.filter ?? null);
  if (!fits || !(await areCellsReadable(session))) return countIn(session, MACHINES, request);
  const isTimed =
    asksForTime(selection.filter) ||
    asksForTime(selection.scope?.filter ?? null) ||
    keys.some(({ name }) => isTimedKey(name));
  const inCells = keys.filter(({ name }) => isCellKey(name));
  const { total, facets } = await countIn(session, isTimed ? TIMED_CELLS : IN_CELLS, {
    ...request,
    keys: inCells,
  });
  const counted = [...facets];
  const rest = keys
    .filter((key) => !inCells.includes(key))
    .map((key) => ({ key, read: keptValues(key, { ...selection, most, total }) }));
  const readable = rest.some(({ read }) => read !== null) && (await areValuesReadable(session, total));
  const others: MachineKey[] = [];
  for (const { key, read } of rest)
    if (read === null || !readable) others.push(key);
    else counted.push({ field: key.name, values: await read(session) });
  if (others.length > 0)
    counted.push(...(await countIn(session, MACHINES, { ...request, keys: others })).facets);
  return {
    total,
    facets: keys.flatMap(({ name }) => counted.find(({ field }) => field === name) ?? []),
  };
}

/** Reads them; null: these are not kept for such a selection. */
function keptValues(
  key: MachineKey,
  { filter, scope, most, total }: MachineSelection & { readonly most: number; readonly total: number },
): ((session: Session) => Promise<readonly ValueCount[]>) | null {
  if (key.name === 'effective_rack') {
    const list = listOfRacks([filter, scope?.filter ?? null]);
    return list === null ? null : (session) => largestValues(session, list, most);
  }
  const label = labelOf(key);
  if (label === null || filter !== null || scope !== null) return null;
  return (session) => largestLabelValues(session, label, { most, total });
}

/** What is counted, and how many machines a row is. */
interface Counted {
  readonly from: string;
  readonly number: string;
  readonly statements: 'cells' | 'timed cells' | 'machines';
}

const MACHINES: Counted = { from: 'machines', number: '1 AS machines', statements: 'machines' };
const IN_CELLS: Counted = {
  from: `${cellsFor('states')} AS cells`,
  number: 'machines',
  statements: 'cells',
};
const TIMED_CELLS: Counted = {
  from: `${cellsFor('states and time')} AS cells`,
  number: 'machines',
  statements: 'timed cells',
};

async function countIn(
  session: Session,
  { from, number, statements }: Counted,
  { keys, most = MAX_VALUES, preparedName, ...selection }: CountRequest,
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
  const isPrepared = preparedName !== undefined && selection.scope === null;
  const rows = await session.run<{ facet: number; value: string | null; machines: number }>(
    isPrepared ? `${preparedName}:${statements}` : '',
    `SELECT facet, value, machines FROM (
       SELECT *, row_number() OVER (PARTITION BY facet ORDER BY machines DESC, value COLLATE "C") AS place FROM (
         SELECT ${names.length > 0 ? `CASE ${whichSet} ELSE -1 END` : '-1'} AS facet,
           ${names.length > 0 ? `coalesce(${names.join(', ')})` : 'NULL::text'} AS value, sum(machines)::bigint AS machines
         FROM (SELECT ${[number, ...columns].join(', ')} FROM ${from} WHERE ${text}) AS m
         GROUP BY GROUPING SETS (${['()', ...names.map((name) => `(${name})`)].join(', ')})) AS counted
       WHERE machines <> 0) AS placed
     WHERE place <= ${most} ORDER BY facet, place`,
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
