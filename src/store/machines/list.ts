/**
 * Pages of machines and operations. A page starts right after the last key of the page before it, so the
 * thousandth page costs as much as the first, and rows that are added or removed do not shift the others.
 */
import type { Scope } from '../../domain/access/scope.ts';
import type { CheckedFilter } from '../../domain/filter/checked-filter.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { Operation } from '../../domain/operation/operation.ts';
import type { Session } from '../database/database.ts';
import {
  MACHINE_AS_JSON,
  type MachineJson,
  machineOfJson,
  OPERATION_COLUMNS,
  type OperationRow,
  operationOf,
} from '../database/rows.ts';
import { OPERATION_FILTER_COLUMNS } from '../filter/operation-columns.ts';
import { inScope } from '../filter/scope-condition.ts';
import { filterToSql } from '../filter/to-sql.ts';
import { machineCondition } from './machine-condition.ts';

export interface PageRequest<Row> {
  readonly filter: CheckedFilter<Row> | null;
  /** The caller's: null for the whole fleet. */
  readonly scope: Scope | null;
  /** The key of the last row that was returned; empty for the first page. */
  readonly after: string;
  readonly size: number;
}

/** The page size is a part of the statement's text, because the planner must know it. */
const PREPARED_SIZES: readonly number[] = [100, 1000];

export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Null on the last page. */
  readonly next: string | null;
}

export async function listMachines(session: Session, request: PageRequest<Machine>): Promise<Page<Machine>> {
  const { text, values } = machineCondition(request, 2);
  const rows = await session.run<MachineJson>(
    statementName('list-machines', request),
    `SELECT ${MACHINE_AS_JSON} FROM machines WHERE machine_id > $1 AND ${text}
     ORDER BY machine_id LIMIT ${request.size + 1}`,
    [request.after, ...values],
  );
  return pageOf(rows.map(machineOfJson), request.size, (machine) => machine.machineId);
}

/** Newest first. */
export async function listOperations(
  session: Session,
  request: PageRequest<Operation>,
): Promise<Page<Operation>> {
  const { text, values } = where(request, request.after === '' ? '$1 = $1' : 'operation_id < $1');
  const rows = await session.run<OperationRow>(
    statementName('list-operations', request),
    `SELECT ${OPERATION_COLUMNS} FROM operations WHERE ${text} ORDER BY operation_id DESC LIMIT ${request.size + 1}`,
    values,
  );
  return pageOf(rows.map(operationOf), request.size, (operation) => operation.operationId);
}

function where(request: PageRequest<Operation>, keyCondition: string): { text: string; values: unknown[] } {
  const { filter, scope, after } = request;
  const asked = filter === null ? null : filterToSql(filter, OPERATION_FILTER_COLUMNS, 2);
  const within = scope === null ? null : inScope(scope, 'machine_id', 2 + (asked?.values.length ?? 0));
  const conditions = [asked, within].flatMap((condition) => condition ?? []);
  return {
    text: [keyCondition, ...conditions.map(({ text }) => `(${text})`)].join(' AND '),
    values: [after, ...conditions.flatMap(({ values }) => values)],
  };
}

/** There are too many filters to prepare statements for; the list without one has a statement for each usual size. */
function statementName<Row>(name: string, request: PageRequest<Row>): string {
  if (request.filter !== null || request.scope !== null || !PREPARED_SIZES.includes(request.size)) return '';
  return `${name}:${request.after === '' ? 'first' : 'next'}:${request.size}`;
}

function pageOf<Row>(rows: Row[], size: number, keyOf: (row: Row) => string): Page<Row> {
  if (rows.length <= size) return { rows, next: null };
  const page = rows.slice(0, size);
  const last = page.at(-1);
  return { rows: page, next: last === undefined ? null : keyOf(last) };
}
