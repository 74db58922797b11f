/**
 * A password that is replaced where it is kept. The new one is kept beside the old one until the other side takes it, so that neither is
 * lost at any point: a crash leaves one of them in use and both readable. Putting the new one in the place of the old one is one step
 * that happens or does not.
 */
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Machine } from '../domain/machine/machine.ts';
import { CredentialProblem, readReferredFile } from './credential-reference.ts';

/** What a source keeps, as text or as fields. */
export interface KeptSecret {
  readonly name: string;
  readonly user: string | null;
  readonly password: string | null;
}

export interface RotatingSecret {
  /** `by all`: other machines may be looked up in the same place, and would be locked out. */
  readonly sharing: 'own' | 'by all';
  /** Null: no new password waits. */
  pending(machine: Machine, signal: AbortSignal): Promise<KeptSecret | null>;
  /** One that waits already stays. */
  prepare(machine: Machine, password: string, signal: AbortSignal): Promise<void>;
  promote(machine: Machine, signal: AbortSignal): Promise<void>;
  drop(machine: Machine, signal: AbortSignal): Promise<void>;
}

export interface RotatingFileOptions {
  readonly sharing: RotatingSecret['sharing'];
  readonly pathOf: (machine: Machine) => string;
  readonly parse: (name: string, text: string) => KeptSecret;
}

export function rotatingFile({ sharing, pathOf, parse }: RotatingFileOptions): RotatingSecret {
  return {
    sharing,
    async pending(machine) {
      const file = pendingFile(pathOf(machine));
      const text = readIfThere(file);
      return text === null ? null : parse(file, text);
    },
    async prepare(machine, password) {
      const path = realPath(pathOf(machine));
      const file = pendingFile(path);
      if (readIfThere(file) === null)
        writeWhole(file, withPassword(path, readReferredFile(path), password), path);
    },
    async promote(machine) {
      const path = realPath(pathOf(machine));
      if (readIfThere(pendingFile(path)) === null) return;
      written(path, () => {
        renameSync(pendingFile(path), path);
        syncFolder(path);
      });
    },
    async drop(machine) {
      const path = realPath(pathOf(machine));
      written(path, () => {
        rmSync(pendingFile(path), { force: true });
        syncFolder(path);
      });
    },
  };
}

/** A link, as Kubernetes mounts secrets, stays a link. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    throw new CredentialProblem(`${path} can't be read (${codeOf(error)})`);
  }
}

/** What a placeholder stands for never begins with a dot, so no machine's own file has this name. */
function pendingFile(path: string): string {
  const real = realPath(path);
  return join(dirname(real), `.${basename(real)}.pending`);
}

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw new CredentialProblem(`${file} can't be read (${codeOf(error)})`);
  }
}

function withPassword(path: string, text: string, password: string): string {
  const trimmed = text.trim();
  if (trimmed.startsWith('-----BEGIN')) throw new CredentialProblem(`${path} has a key and no password`);
  if (!trimmed.startsWith('{')) return text.endsWith('\n') ? `${password}\n` : password;
  try {
    const fields = JSON.parse(trimmed) as Record<string, unknown>;
    return `${JSON.stringify({ ...fields, password }, null, 2)}\n`;
  } catch {
    // The parser's own words quote the text.
    throw new CredentialProblem(`${path} is not valid JSON`);
  }
}

/** There in whole or not at all, for the same users as the old one. */
function writeWhole(file: string, text: string, like: string): void {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  written(like, () => {
    try {
      const handle = openSync(draft, 'wx', 0o600);
      try {
        writeSync(handle, text);
        fsyncSync(handle);
      } finally {
        closeSync(handle);
      }
      const { uid, gid, mode } = statSync(like);
      if (process.getuid?.() === 0) chownSync(draft, uid, gid);
      chmodSync(draft, mode & 0o777);
      renameSync(draft, file);
      syncFolder(file);
    } finally {
      rmSync(draft, { force: true });
    }
  });
}

/** A name is safe on the disk only after its folder is. */
function syncFolder(file: string): void {
  const handle = openSync(dirname(file), 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function written(path: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    if (error instanceof CredentialProblem) throw error;
    throw new CredentialProblem(`${path} can't be replaced (${codeOf(error)})`);
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown error';
}
