/** The file with the key that signs the audit chain: created at the first start, readable for its owner only. */
import { chmodSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type AuditKey, auditKeyOf, NotAKey, newKeyPem, publicPem } from '../../audit/audit-key.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { KeyKeeper } from '../../store/audit/signing-key.ts';
import type { ReplicaOptions } from '../replica/replica-options.ts';
import { SettingError } from '../settings/settings.ts';

export function auditKeyFile({
  settings,
  configuration,
}: Pick<ReplicaOptions, 'settings' | 'configuration'>): string {
  return configuration.audit.key_file ?? join(settings.dataDir, 'audit.key');
}

/** The key of a replica, in its file. A key that is to replace it is in a second file until the chain has it. */
export function openAuditKeys(file: string): KeyKeeper {
  const staged = `${file}.next`;
  let key = openAuditKey(file);
  return {
    current: () => key,
    reload(keyId) {
      if (stagedKey(staged)?.keyId === keyId) renameSync(staged, file);
      key = openAuditKey(file);
      return key;
    },
    stage() {
      try {
        rmSync(staged, { force: true });
        writeFileSync(staged, newKeyPem(), { mode: 0o600, flush: true });
        return auditKeyOf(readFileSync(staged, 'utf8'));
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        throw new Fault('AUDIT_KEY_NOT_WRITABLE', {
          message: 'the file of the audit key can not be replaced by the server',
          context: { file, code },
        });
      }
    },
    adopt(next) {
      key = next;
      renameSync(staged, file);
      openAuditKey(file);
    },
  };
}

function stagedKey(file: string): AuditKey | null {
  const pem = readPem(file);
  return pem === null ? null : auditKeyOf(pem);
}

/** Replicas on other hosts need a copy of the file: the chain has one key at a time. */
function openAuditKey(file: string): AuditKey {
  mkdirSync(dirname(file), { recursive: true, mode: 0o755 });
  const pem = readPem(file) ?? createPem(file);
  try {
    // A copy may have been made readable for others.
    chmodSync(file, 0o600);
    const key = auditKeyOf(pem);
    writeFileSync(`${file}.pub`, publicPem(key.publicKey), { mode: 0o644 });
    return key;
  } catch (error) {
    if (error instanceof NotAKey) throw new SettingError('audit.key_file', `${file} ${error.message}`);
    throw unusable(file, error);
  }
}

function readPem(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw unusable(file, error);
  }
}

/** Two processes may start at once: the file that is linked first is the key of both. */
function createPem(file: string): string {
  const temporary = `${file}.${process.pid}`;
  try {
    writeFileSync(temporary, newKeyPem(), { mode: 0o600 });
    linkSync(temporary, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw unusable(file, error);
  } finally {
    rmSync(temporary, { force: true });
  }
  return readFileSync(file, 'utf8');
}

function unusable(file: string, error: unknown): SettingError {
  const { code } = error as NodeJS.ErrnoException;
  return new SettingError('audit.key_file', `${file} can't be used (${code ?? 'unknown error'})`);
}
