/** Describes the sessions that block a lock, for the log: without the values of their queries. */
import type pg from 'pg';

interface BlockerRow {
  readonly pid: number;
  readonly application_name: string;
  readonly state: string | null;
  readonly seconds: number | null;
  readonly query: string;
}

const MAX_QUERY = 120;

export async function blockersOf(observer: pg.Client, pid: number): Promise<string[]> {
  const { rows } = await observer.query<BlockerRow>(
    `SELECT activity.pid, activity.application_name, activity.state, activity.query,
            extract(epoch FROM clock_timestamp() - activity.xact_start)::int AS seconds
     FROM unnest(pg_blocking_pids($1)) AS blocking (pid)
     JOIN pg_stat_activity AS activity ON activity.pid = blocking.pid
     ORDER BY activity.xact_start`,
    [pid],
  );
  return rows.map(describeBlocker);
}

function describeBlocker({ pid, application_name, state, seconds, query }: BlockerRow): string {
  const name = application_name === '' ? 'a session without a name' : application_name;
  const since = seconds === null ? '' : `, its transaction is ${seconds} s old`;
  return `pid ${pid} (${name}, ${state ?? 'no state'}${since}): ${withoutValues(query)}`;
}

/** Strings, dollar-quoted ones included, and numbers that are not part of a name. */
export function withoutValues(query: string): string {
  const bare = query
    .replace(/\$(\w*)\$[\s\S]*?(?:\$\1\$|$)/g, '?')
    .replace(/'(?:[^']|'')*(?:'|$)/g, '?')
    .replace(/(?<![\w$])\d[\w.]*/g, '?')
    .replace(/--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return bare.length > MAX_QUERY ? `${bare.slice(0, MAX_QUERY)}...` : bare;
}
