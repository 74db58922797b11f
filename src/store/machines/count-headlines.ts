/**
 * Machines that need attention, by the rule that decides their headline. How many there are is counted with the overview's other counts; the
 * newest of each is the first of a range of an index.
 */
import type { Scope } from '../../domain/access/scope.ts';
import type { HeadlineReason } from '../../domain/machine/headline.ts';
import type { Session } from '../database/database.ts';
import { MACHINE_FILTER_COLUMNS as columns } from '../filter/machine-columns.ts';
import { preparedAs, scopeCondition } from '../filter/scope-condition.ts';
import type { FacetCount } from './count-machines.ts';

export interface HeadlineGroup {
  readonly reason: HeadlineReason;
  /** Its condition makes it ATTENTION or BLOCKED, and it is counted by that condition too. */
  readonly byCondition: boolean;
  readonly machines: number;
  /** The machine that has it since most recently; null where a condition names the group. */
  readonly example: HeadlineExample | null;
}

export interface HeadlineExample {
  readonly machineId: string;
  readonly since: Date;
}

const BY_CONDITION = ' by condition';

/** The headline of a machine that needs attention, and whether a condition names it. */
export const ATTENTION_HEADLINE = `(CASE WHEN ${columns.needs_attention} THEN ${columns.headline} ||
  CASE WHEN ${columns.effective_state} IN ('ATTENTION', 'BLOCKED') THEN '${BY_CONDITION}' ELSE '' END END)`;

/** The index machines_by_headline has the very same text. */
export const TROUBLED_BESIDE = `active_operation_id IS NULL AND ((conditions -> 'Degraded' -> 'status') = 'true'
  OR (conditions -> 'Reachable' -> 'status') = 'false' OR install = 'install_failed' OR presence = 'expired'
  OR service IN ('quarantined', 'offline', 'removing') OR (observed ->> 'state') <> 'Deployed')`;

/** The headline, a space, and since when. A range of one headline ends before what follows the space. */
const SINCE = `(ingot_headline_since(phase, service, install, presence, active_operation_id, conditions, observed, install_since,
  service_since) COLLATE "C")`;

/** What an upstream or a probe reports may lack its time. */
export const timeOrLastChange = (text: string) =>
  `coalesce(nullif(${text}, '')::timestamptz, updated_at) AS since`;

export const newestOfHeadlines = (within: string) => `
  SELECT g.headline, n.machine_id, n.since FROM unnest($1::text[]) AS g(headline) CROSS JOIN LATERAL (
    SELECT machine_id, ${timeOrLastChange(`substring(${SINCE} FROM length(g.headline) + 2)`)} FROM machines
    WHERE ${TROUBLED_BESIDE} AND ${SINCE} >= g.headline || ' ' AND ${SINCE} < g.headline || '!'
      AND ${columns.headline} = g.headline AND ${within}
    ORDER BY ${SINCE} DESC, machine_id LIMIT 1) AS n`;

/** The end that the machine's order names. */
const newestOverdue = (within: string) => `
  SELECT 'maintenance_overdue' AS headline, machine_id, ${timeOrLastChange("maintenance ->> 'until'")} FROM machines
  WHERE phase = 'MAINTENANCE' AND (maintenance ->> 'until') COLLATE "C" <= $1
    AND ${columns.headline} = 'maintenance_overdue' AND ${columns.effective_state} NOT IN ('ATTENTION', 'BLOCKED')
    AND service IS DISTINCT FROM 'deleted' AND ${within}
  ORDER BY (maintenance ->> 'until') COLLATE "C" DESC, machine_id LIMIT 1`;

interface ExampleRow extends Record<string, unknown> {
  headline: string;
  machine_id: string;
  since: Date;
}

/** `counted` are the values of ATTENTION_HEADLINE. */
export async function readHeadlines(
  session: Session,
  scope: Scope | null,
  { counted, at }: { readonly counted: FacetCount['values']; readonly at: Date },
): Promise<HeadlineGroup[]> {
  const groups = counted.flatMap(({ value, machines }) => {
    const byCondition = value.endsWith(BY_CONDITION);
    const reason = (byCondition ? value.slice(0, -BY_CONDITION.length) : value) as HeadlineReason;
    return value === '' ? [] : [{ reason, byCondition, machines }];
  });
  const examples = await readExamples(
    session,
    scope,
    groups.filter(({ byCondition }) => !byCondition).map(({ reason }) => reason),
    at,
  );
  return groups.map((group) => ({
    ...group,
    example: group.byCondition ? null : (examples.get(group.reason) ?? null),
  }));
}

async function readExamples(
  session: Session,
  scope: Scope | null,
  reasons: readonly HeadlineReason[],
  at: Date,
): Promise<Map<string, HeadlineExample>> {
  const { text, values } = scopeCondition(scope, 2);
  const others = reasons.filter((reason) => reason !== 'maintenance_overdue');
  const rows: ExampleRow[] = [];
  if (others.length > 0)
    rows.push(
      ...(await session.run<ExampleRow>(preparedAs('headline-examples', scope), newestOfHeadlines(text), [
        others,
        ...values,
      ])),
    );
  if (others.length < reasons.length)
    rows.push(
      ...(await session.run<ExampleRow>(preparedAs('newest-overdue', scope), newestOverdue(text), [
        at.toISOString(),
        ...values,
      ])),
    );
  return new Map(rows.map(({ headline, machine_id: machineId, since }) => [headline, { machineId, since }]));
}
