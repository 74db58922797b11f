/** A file that holds one secret and that only its owner can read. */
import { chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs';

export interface SecretFile {
  /** Puts the secret in the place of what the file held: a reader finds the old one or the new one, never a part. */
  replace(secret: string): void;
  discard(): void;
}

/** Fails at once where the file could not be written, before there is a secret to lose. */
export function openSecretFile(path: string): SecretFile {
  const temporary = `${path}.${process.pid}`;
  const write = (text: string) => {
    writeFileSync(temporary, text, { mode: 0o600 });
    // The mode counts only for a new file.
    chmodSync(temporary, 0o600);
  };
  write('');
  return {
    replace: (secret) => {
      write(`${secret}\n`);
      renameSync(temporary, path);
    },
    discard: () => rmSync(temporary, { force: true }),
  };
}
