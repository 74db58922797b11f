/** The PostgreSQL versions that the store supports; `npm run test:postgres` tests an old one. */
import type pg from 'pg';

const SUPPORTED_MAJORS = { oldest: 13, newest: 18 } as const;

class UnsupportedPostgres extends Error {
  override readonly name = 'UnsupportedPostgres';
  readonly code = 'UNSUPPORTED_VERSION';
}

/** Refuses a server of an untested version before anything is changed there. */
export async function checkServerVersion(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ number: number; name: string }>(
    `SELECT current_setting('server_version_num')::integer AS number, current_setting('server_version') AS name`,
  );
  for (const { number, name } of rows) {
    const major = Math.floor(number / 10_000);
    if (major >= SUPPORTED_MAJORS.oldest && major <= SUPPORTED_MAJORS.newest) continue;
    throw new UnsupportedPostgres(
      `the server is PostgreSQL ${name}, and Ingot supports ${SUPPORTED_MAJORS.oldest} to ${SUPPORTED_MAJORS.newest}: ` +
        'use a database on a supported server',
    );
  }
}
