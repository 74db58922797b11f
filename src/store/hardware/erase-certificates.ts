/** Certificates of erasures: one for each operation that erased a machine. */
import type { SignedCertificate } from '../../audit/erase-certificate.ts';
import type { Session } from '../database/database.ts';

export interface StoredCertificate extends SignedCertificate {
  readonly machineId: string;
  readonly operationId: string;
  readonly issuedAt: Date;
}

interface Row extends Record<string, unknown> {
  readonly machine_id: string;
  readonly operation_id: string;
  readonly issued_at: Date;
  readonly document: string;
  readonly key_id: string;
  readonly public_key: string;
  readonly signature: string;
}

/** False: the operation has one. */
export async function insertCertificate(session: Session, certificate: StoredCertificate): Promise<boolean> {
  const { machineId, operationId, issuedAt, document, keyId, publicKey, signature } = certificate;
  const rows = await session.run<{ machine_id: string }>(
    'insert-erase-certificate',
    `INSERT INTO erase_certificates (machine_id, operation_id, issued_at, document, key_id, public_key, signature)
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING machine_id`,
    [machineId, operationId, issuedAt, document, keyId, publicKey, signature],
  );
  return rows.length > 0;
}

/** The newest, or the one of an operation; null: there is none. */
export async function findCertificate(
  session: Session,
  machineId: string,
  operationId: string | null,
): Promise<StoredCertificate | null> {
  const [row] = await session.run<Row>(
    'find-erase-certificate',
    `SELECT * FROM erase_certificates WHERE machine_id = $1 AND ($2::text IS NULL OR operation_id = $2)
     ORDER BY issued_at DESC LIMIT 1`,
    [machineId, operationId],
  );
  return row ? certificateOf(row) : null;
}

function certificateOf(row: Row): StoredCertificate {
  return {
    machineId: row.machine_id,
    operationId: row.operation_id,
    issuedAt: row.issued_at,
    document: row.document,
    keyId: row.key_id,
    publicKey: row.public_key,
    signature: row.signature,
  };
}
