/** All that a secret must not be in: every row of every table, and the log of the server. */
import type { TestServer } from './server.ts';

export async function everythingStored(server: TestServer): Promise<string> {
  const tables = await server.sql<{ name: string }>(
    `SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = current_schema()`,
  );
  const rows = await server.sql<{ line: string }>(
    tables.map(({ name }) => `SELECT row_to_json(t)::text AS line FROM ${name} t`).join(' UNION ALL '),
  );
  return [...rows.map(({ line }) => line), server.logged.join('')].join('\n');
}

/** A secret as it may be written: plain, as hexadecimal digits, in base64, in a URL. */
export function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [
    secret,
    bytes.toString('hex'),
    bytes.toString('base64').replace(/=+$/, ''),
    encodeURIComponent(secret),
  ];
}
