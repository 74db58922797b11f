// @module-tag extended: who-may-connect.test.ts has the account of a server.
/** Whose PostgreSQL it is when root starts Ingot. */
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chooseAccount } from './account.ts';
import { startEmbeddedPostgres } from './embedded-postgres.ts';

const isRoot = process.getuid?.() === 0;
/** Debian's account `daemon`: an ordinary user that every system has. */
const OWNER = 1;
const ANOTHER = 2;
const NOBODY = 65534;

describe.runIf(isRoot)('PostgreSQL that root starts runs as', () => {
  let base: string;
  beforeAll(() => {
    base = mkdtempSync(join(tmpdir(), 'ingot-account-test-'));
    chmodSync(base, 0o755);
  });
  afterAll(() => rmSync(base, { recursive: true, force: true }));

  const folder = (path: string, uid: number) => {
    mkdirSync(join(base, path), { mode: 0o755 });
    chownSync(join(base, path), uid, uid);
    return join(base, path);
  };
  const chosen = (dataDir: string) => chooseAccount(join(dataDir, 'postgresql'), () => {});

  test('the owner of the data directory', async () => {
    expect(await chosen(folder('owned', OWNER))).toEqual({ uid: OWNER, gid: OWNER });
  });

  test('the owner of the cluster, where there is one', async () => {
    const dataDir = folder('older', OWNER);
    folder('older/postgresql', ANOTHER);
    expect(await chosen(dataDir)).toEqual({ uid: ANOTHER, gid: ANOTHER });
  });

  test('neither nobody nor root', async () => {
    const account = await chosen(folder('shared', NOBODY));
    expect([0, NOBODY]).not.toContain(account?.uid);
    const ofRoot = folder('of-root', 0);
    folder('of-root/postgresql', 0);
    await expect(chosen(ofRoot)).rejects.toThrow('belongs to root');
  });

  test('that owner for real: its files and its process are the owner’s, and its data survive a restart', async () => {
    const dataDir = folder('real', OWNER);
    for (const _start of [1, 2]) {
      const postgres = await startEmbeddedPostgres({ dataDir, ephemeral: true });
      try {
        const cluster = join(dataDir, 'postgresql');
        expect(statSync(cluster)).toMatchObject({ uid: OWNER, gid: OWNER });
        expect(statSync(join(cluster, 'postmaster.pid')).uid).toBe(OWNER);
        // The password is for the user that runs Ingot alone.
        expect(statSync(join(dataDir, 'postgresql.password'))).toMatchObject({ uid: 0 });
        expect(statSync(join(dataDir, 'postgresql.password')).mode & 0o777).toBe(0o600);
      } finally {
        await postgres.stop();
      }
    }
  });
});
