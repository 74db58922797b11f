/** Machines that need attention, counted by the rule that decides their headline. Its index has the few that may need it. */
import type { Scope } from '../../domain/access/scope.ts';
import type { HeadlineReason } from '../../domain/machine/headline.ts';
import type { Session } from '../database/database.ts';
import { MACHINE_FILTER_COLUMNS as columns } from '../filter/machine-columns.ts';
import { preparedAs, scopeCondition } from '../filter/scope-condition.ts';

export interface HeadlineGroup {
  readonly reason: HeadlineReason;
  /** Its condition makes it ATTENTION or BLOCKED, and it is counted by that condition too. */
  readonly byCondition: boolean;
  readonly machines: number;
  /** The machine that has it since most recently. */
  readonly exampleMachineId: string;
  readonly newest: Date;
}

const SINCE = `CASE headline
  WHEN 'maintenance_overdue' THEN (maintenance ->> 'until')::timestamptz
  WHEN 'drift' THEN (observed ->> 'at')::timestamptz
  WHEN 'install_failed' THEN install_since
  WHEN 'degraded' THEN (conditions -> 'Degraded' ->> 'lastTransition')::timestamptz
  WHEN 'unreachable' THEN (conditions -> 'Reachable' ->> 'lastTransition')::timestamptz
  ELSE service_since END`;

const headlines = (within: string) => `
  SELECT DISTINCT ON (by_condition, headline) headline, by_condition, machine_id, since,
    count(*) OVER (PARTITION BY by_condition, headline) AS machines
  FROM (
    SELECT *, coalesce(${SINCE}, updated_at) AS since FROM (
      SELECT *, ${columns.headline} AS headline, ${columns.effective_state} IN ('ATTENTION', 'BLOCKED') AS by_condition
      FROM machines
      WHERE ${columns.needs_attention} AND service IS DISTINCT FROM 'deleted' AND ${within}) AS troubled) AS dated
  ORDER BY by_condition, headline, since DESC, machine_id`;

interface Row extends Record<string, unknown> {
  headline: HeadlineReason;
  by_condition: boolean;
  machine_id: string;
  since: Date;
  machines: number;
}

export async function readHeadlines(session: Session, scope: Scope | null): Promise<HeadlineGroup[]> {
  const { text, values } = scopeCondition(scope, 1);
  const rows = await session.run<Row>(preparedAs('count-headlines', scope), headlines(text), [...values]);
  return rows.map((row) => ({
    reason: row.headline,
    byCondition: row.by_condition,
    machines: row.machines,
    exampleMachineId: row.machine_id,
    newest: row.since,
  }));
}
