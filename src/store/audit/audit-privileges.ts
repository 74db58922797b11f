/** What the server's own role may do to the event log and its chain. */
import pg from 'pg';
import { APPEND_ONLY_TABLES, appendOnlyGrants } from '../../audit/append-only-sql.ts';
import type { Session } from '../database/database.ts';

/** Run by the owner of the tables after every migration: a new table has no rights for the role yet. */
export async function grantAppendOnly(ownerUrl: string, role: string): Promise<void> {
  const client = new pg.Client({ connectionString: ownerUrl, connectionTimeoutMillis: 10_000 });
  await client.connect();
  try {
    for (const statement of appendOnlyGrants(role)) await client.query(statement);
  } finally {
    await client.end();
  }
}

export interface AuditPrivileges {
  readonly role: string;
  /** Tables whose rows the role may change or remove. */
  readonly changeable: readonly string[];
}

export async function readAuditPrivileges(session: Session): Promise<AuditPrivileges> {
  const rows = await session.run<{ role: string; name: string; changeable: boolean }>(
    'audit-privileges',
    `SELECT current_user::text AS role, name,
       has_table_privilege(name, 'UPDATE') OR has_table_privilege(name, 'DELETE')
         OR has_table_privilege(name, 'TRUNCATE') AS changeable
     FROM unnest($1::text[]) AS name`,
    [APPEND_ONLY_TABLES],
  );
  return {
    role: rows[0]?.role ?? '',
    changeable: rows.filter((row) => row.changeable).map((row) => row.name),
  };
}
