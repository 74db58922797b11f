/** What the server's own role may do to the event log and its chain. */
import { APPEND_ONLY_TABLES } from '../../audit/append-only-sql.ts';
import type { Session } from '../database/database.ts';

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
