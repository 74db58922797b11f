/** Whether credentials changed, for a replica that may have missed the notice of it. */
import type { Session } from './database/database.ts';

/** Counts and sums, not the latest time: of two revocations, the one with the earlier time may be committed last. */
const READ = `
  SELECT (SELECT count(revoked_at) || ' ' || coalesce(sum(extract(epoch FROM rotated_at)), 0) FROM tokens)
    || ' ' || (SELECT count(ended_at) FROM sessions)
    || ' ' || (SELECT count(ends_at) || ' ' || coalesce(sum(extract(epoch FROM ends_at)), 0) FROM identities) AS state`;

/** Another text after every revocation and rotation of a token, the end of a session, and the end of an identity's access. */
export async function readCredentialState(session: Session): Promise<string> {
  const [row] = await session.run<{ state: string }>('credential-state', READ, []);
  return row?.state ?? '';
}
