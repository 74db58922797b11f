/*
 * The roles of the embedded PostgreSQL. Each row is a role that every start makes sure of, before PostgreSQL listens
 * (`ensure-access.ts`). A row that changes reaches existing data directories at the next start.
 *
 * `postgres`, the superuser that initdb creates, is not among them: no one can connect as it. What needs its rights happens in
 * single-user mode while PostgreSQL is down. Rights to tables belong into migrations, which run as `ingot`, their owner; with
 * DATABASE_URL the roles are the administrator's, so a migration must do without a role that does not exist.
 */

interface RoleRow {
  /** `password`: may connect, with the password of `access.ts`. `never`: only for SET ROLE and for grants. */
  readonly login: 'password' | 'never';
  /** Roles that may switch to this one. */
  readonly members: readonly string[];
}

/** Owns the database and everything in it. */
export const OWNER = 'ingot';

/** Serves: it can add events and blocks of the audit chain, and can't change them. The owner only migrates. */
export const WRITER = 'ingot_writer';

/** The same database as another role: all of them have one password. */
export function asRole(ownerUrl: string, role: string): string {
  return ownerUrl.replace(`//${OWNER}:`, `//${role}:`);
}

const ROLES: Readonly<Record<string, RoleRow>> = {
  [OWNER]: { login: 'password', members: [] },
  [WRITER]: { login: 'password', members: [] },
};

export interface RoleSettings {
  /** The stored form of the password of those that may connect. */
  readonly verifier: string;
  /** For tests and measurements: clones of a database, checkpoints. */
  readonly databases: 'its own' | 'any';
}

/** May be repeated. Statements for single-user mode, run by the superuser in the database `postgres`. */
export function roleStatements({ verifier, databases }: RoleSettings): string[] {
  const created = databases === 'any' ? 'CREATEDB' : 'NOCREATEDB';
  return [
    'ALTER ROLE postgres PASSWORD NULL',
    ...Object.entries(ROLES).flatMap(([name, { login, members }]) => [
      `DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${name}') THEN CREATE ROLE ${name}; END IF; END $$`,
      `ALTER ROLE ${name} NOSUPERUSER NOCREATEROLE NOREPLICATION NOBYPASSRLS ${name === OWNER ? created : 'NOCREATEDB'} ` +
        (login === 'password' ? `LOGIN PASSWORD '${verifier}'` : 'NOLOGIN PASSWORD NULL'),
      ...members.map((member) => `GRANT ${name} TO ${member}`),
    ]),
    ...(databases === 'any' ? [`GRANT pg_checkpoint TO ${OWNER}`] : []),
    `ALTER DATABASE postgres OWNER TO ${OWNER}`,
    'REVOKE ALL ON DATABASE postgres FROM PUBLIC',
    GIVE_OBJECTS,
  ];
}

/**
 * What earlier versions created as the superuser. REASSIGN OWNED refuses the superuser's objects as a whole, because the
 * system's own are among them. Sequences of columns follow their tables, so tables come first.
 */
const GIVE_OBJECTS = `DO $$
DECLARE statement text;
BEGIN
  FOR statement IN
    SELECT format('ALTER SCHEMA %I OWNER TO ${OWNER}', nspname) FROM pg_namespace
      WHERE nspowner = 10 AND nspname !~ '^(pg_|information_schema$|public$)'
  LOOP EXECUTE statement; END LOOP;
  FOR statement IN
    SELECT format('ALTER TABLE %s OWNER TO ${OWNER}', oid::regclass) FROM pg_class
      WHERE relowner = 10 AND relkind IN ('r', 'p', 'v', 'm') AND relnamespace::regnamespace::text !~ '^(pg_|information_schema$)'
  LOOP EXECUTE statement; END LOOP;
  FOR statement IN
    SELECT format('ALTER SEQUENCE %s OWNER TO ${OWNER}', oid::regclass) FROM pg_class
      WHERE relowner = 10 AND relkind = 'S' AND relnamespace::regnamespace::text !~ '^(pg_|information_schema$)'
  LOOP EXECUTE statement; END LOOP;
  FOR statement IN
    SELECT format('ALTER ROUTINE %s OWNER TO ${OWNER}', oid::regprocedure) FROM pg_proc
      WHERE proowner = 10 AND pronamespace::regnamespace::text !~ '^(pg_|information_schema$)'
  LOOP EXECUTE statement; END LOOP;
  FOR statement IN
    SELECT format('ALTER TYPE %s OWNER TO ${OWNER}', type.oid::regtype) FROM pg_type AS type
      LEFT JOIN pg_class AS class ON class.oid = type.typrelid
      WHERE typowner = 10 AND (typtype IN ('d', 'e', 'r') OR class.relkind = 'c')
        AND typnamespace::regnamespace::text !~ '^(pg_|information_schema$)'
  LOOP EXECUTE statement; END LOOP;
END $$`;
