/** The audit chain of a replica: its key and its head, which are files, and the loop that seals events. */
import { join } from 'node:path';
import type { AuditKey } from '../../audit/audit-key.ts';
import type { Checkpoint } from '../../audit/chain.ts';
import { readAuditPrivileges } from '../../store/audit/audit-privileges.ts';
import { AuditSealer } from '../../store/audit/audit-sealer.ts';
import type { KeyRotation } from '../../store/audit/signing-key.ts';
import type { Database } from '../../store/database/database.ts';
import type { LoopHealth } from '../replica/loop-health.ts';
import type { ReplicaOptions } from '../replica/replica-options.ts';
import type { RunningParts } from '../replica/running-parts.ts';
import { openHeadFile } from './audit-head-file.ts';
import { auditKeyFile, openAuditKeys } from './audit-key-file.ts';
import { recordFingerprints } from './record-settings.ts';

export interface Audit {
  readonly sealer: AuditSealer;
  /** The last one, and those that the chain has lost. */
  readonly heads: () => readonly Checkpoint[];
  /** The key of the last block, where this replica has it. */
  readonly key: (lastKeyId: string | null) => AuditKey;
  readonly rotateKey: (rotation: KeyRotation) => Promise<AuditKey>;
}

export interface AuditDependencies {
  readonly database: Database;
  readonly loops: LoopHealth;
  readonly running: RunningParts;
}

export async function startAudit(
  { settings, configuration, log }: ReplicaOptions,
  { database, loops, running }: AuditDependencies,
): Promise<Audit> {
  const file = auditKeyFile({ settings, configuration });
  const keys = openAuditKeys(file);
  const head = openHeadFile(join(settings.dataDir, 'audit-head.json'), (problem) =>
    log.error({ problem }, 'the file with the head of the audit chain is not readable; it is written again'),
  );
  const sealer = new AuditSealer({
    database,
    keys,
    head,
    watch: loops.withoutReadiness,
    now: () => new Date(),
    monotonicNow: () => performance.now(),
    onHeadLost: (lost, last) =>
      log.error(
        { block_no: lost.blockNo, hash: lost.hash, last_block_no: last?.blockNo ?? 0 },
        'the end of the audit chain is missing in the database: it was restored from a backup, or tampered with',
      ),
    onKeyReplaced: (keyId, previousKeyId) =>
      log.error(
        { key_id: keyId, previous_key_id: previousKeyId },
        'the audit chain goes on with the key of this replica, because no replica with the key before it seals; replicas need the same audit.key_file',
      ),
    onKeyRetired: (keyId, successorId) =>
      log.error(
        { key_id: keyId, successor_key_id: successorId },
        'this replica has an audit key that was rotated, and seals nothing; copy the new file to it',
      ),
  });
  running.start(sealer);
  const { role, changeable } = await readAuditPrivileges(database);
  const isAppendOnly = changeable.length === 0;
  const facts = { key_id: keys.current().keyId, key_file: file, role, append_only: isAppendOnly, changeable };
  if (isAppendOnly) log.debug(facts, 'events are sealed; the database role can only append to them');
  else
    log.info(
      facts,
      'events are sealed; the database role can also change them, which the chain makes evident',
    );
  return {
    sealer,
    key: (lastKeyId) => {
      const key = keys.current();
      return lastKeyId === null || lastKeyId === key.keyId ? key : keys.reload(lastKeyId);
    },
    rotateKey: async (rotation) => {
      const key = await sealer.rotateKey(rotation, (session, next) =>
        recordFingerprints(session, { settings, configuration }, next),
      );
      log.warn(
        { key_id: key.keyId, key_file: file },
        'the audit key was rotated; other hosts need a copy of it',
      );
      return key;
    },
    heads: () => {
      const last = head.read();
      return [...head.readLost(), ...(last === null ? [] : [last])];
    },
  };
}
