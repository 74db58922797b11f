/** The SSH host keys that deployments gave machines; public keys only. */
import type { Session } from '../database/database.ts';

const WRITE = `
  INSERT INTO host_keys (machine_id, public_key) VALUES ($1, $2)
  ON CONFLICT (machine_id) DO UPDATE SET public_key = excluded.public_key, created_at = now()`;

/** The previous key is void: its disk is about to be written. */
export async function writeHostKey(session: Session, machineId: string, publicKey: string): Promise<void> {
  await session.run('write-host-key', WRITE, [machineId, publicKey]);
}

/** "ssh-ed25519 AAAA…"; null: Ingot did not deploy the machine. */
export async function readHostKey(session: Session, machineId: string): Promise<string | null> {
  const [row] = await session.run<{ public_key: string }>(
    'read-host-key',
    'SELECT public_key FROM host_keys WHERE machine_id = $1',
    [machineId],
  );
  return row?.public_key ?? null;
}
