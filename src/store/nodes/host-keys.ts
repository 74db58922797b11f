/** The host keys that deployments gave their machines; public halves only. */
import type { Session } from '../database/database.ts';

const WRITE = `
  INSERT INTO host_keys (machine_id, public_key) VALUES ($1, $2)
  ON CONFLICT (machine_id) DO UPDATE SET public_key = excluded.public_key, created_at = now()`;

/** The one before it is no good any more: its disk is about to be written. */
export async function writeHostKey(session: Session, machineId: string, publicKey: string): Promise<void> {
  await session.run('write-host-key', WRITE, [machineId, publicKey]);
}

/** "ssh-ed25519 AAAA…", or null where no deployment of ours gave it one. */
export async function readHostKey(session: Session, machineId: string): Promise<string | null> {
  const [row] = await session.run<{ public_key: string }>(
    'read-host-key',
    'SELECT public_key FROM host_keys WHERE machine_id = $1',
    [machineId],
  );
  return row?.public_key ?? null;
}
