/**
 * A database role for the server that can add events and blocks and can't change or remove any. The tables belong to another role,
 * which only migrations need. The server itself runs these statements in its embedded PostgreSQL; elsewhere an administrator does.
 */
export const APPEND_ONLY_ROLE = 'ingot_writer';

export const APPEND_ONLY_TABLES = ['events', 'audit_blocks', 'audit_checkpoints', 'audit_keys'] as const;

/** The rights of a role that exists, to be granted again after every migration, as the owner of the tables. */
export function appendOnlyGrants(role: string): string[] {
  return [
    `DO $$ BEGIN EXECUTE format('GRANT CONNECT, TEMPORARY ON DATABASE %I TO ${role}', current_database()); END $$`,
    `GRANT USAGE ON SCHEMA public TO ${role}`,
    `GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON ALL TABLES IN SCHEMA public TO ${role}`,
    `GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA public TO ${role}`,
    `REVOKE UPDATE, DELETE, TRUNCATE ON ${APPEND_ONLY_TABLES.join(', ')} FROM ${role}`,
  ];
}

/** For psql. */
export function appendOnlySql(role: string): string {
  return `-- Run it in Ingot's database as the owner of its tables, after each upgrade. The role gets its password from you:
--   ALTER ROLE ${role} PASSWORD '...'
-- and the server connects as it: DATABASE_URL=postgresql://${role}:...@host/database
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${role}') THEN
    CREATE ROLE ${role} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE;
  END IF;
END $$;
${appendOnlyGrants(role)
  .map((statement) => `${statement};`)
  .join('\n')}
`;
}
