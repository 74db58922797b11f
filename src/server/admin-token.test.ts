import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../../test/parts/postgres.ts';
import { Database } from '../store/database/database.ts';
import { findToken, listTokens, revokeToken } from '../store/tokens.ts';
import { ensureAdminToken } from './admin-token.ts';

let clone: TestDatabase;
let database: Database;
let base: string;
let dataDir: string;

beforeAll(async () => {
  clone = await cloneDatabase();
  database = new Database({ url: clone.url, maxConnections: 2, onIdleError: () => {} });
});
afterAll(async () => {
  await database.close();
  await clone.drop();
});
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'ingot-admin-token-test-'));
  dataDir = join(base, 'data');
});
afterEach(async () => {
  rmSync(base, { recursive: true });
  await database.run('forget-tokens', 'DELETE FROM tokens');
});

const secretIn = (file: string) => readFileSync(file, 'utf8').trim();

describe('the first token', () => {
  it('is made at the first start, for an admin, in a file that only its owner can read', async () => {
    const { file, fresh } = await ensureAdminToken(database, dataDir);
    expect([file, fresh]).toEqual([join(dataDir, 'admin.token'), true]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await findToken(database, secretIn(file))).toMatchObject({
      name: 'admin',
      role: 'admin',
      expiresAt: null,
    });
    expect(readdirSync(dataDir)).toEqual(['admin.token']);
  });

  it('is kept at the next start', async () => {
    const { file } = await ensureAdminToken(database, dataDir);
    const secret = secretIn(file);
    expect(await ensureAdminToken(database, dataDir)).toEqual({ file, fresh: false });
    expect(secretIn(file)).toBe(secret);
    expect(await listTokens(database, null)).toHaveLength(1);
  });

  it.each([
    ['is empty', ''],
    ['was made for another database', 'ingot_of-another-database\n'],
  ])('is created again when its file %s', async (_why, content) => {
    await ensureAdminToken(database, dataDir);
    const file = join(dataDir, 'admin.token');
    writeFileSync(file, content, { mode: 0o644 });
    expect((await ensureAdminToken(database, dataDir)).fresh).toBe(true);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await findToken(database, secretIn(file))).toMatchObject({ role: 'admin' });
  });

  it('is created again when it was revoked', async () => {
    const { file } = await ensureAdminToken(database, dataDir);
    const revoked = secretIn(file);
    await revokeToken(database, { name: 'admin', within: null, actor: { kind: 'admin', id: 'ann' } });
    expect((await ensureAdminToken(database, dataDir)).fresh).toBe(true);
    expect(secretIn(file)).not.toBe(revoked);
  });

  it('of a replica with another data directory revokes no other token', async () => {
    const first = await ensureAdminToken(database, dataDir);
    const second = await ensureAdminToken(database, join(base, 'other'));
    for (const { file } of [first, second]) expect(await findToken(database, secretIn(file))).not.toBeNull();
    const names = (await listTokens(database, null)).map(({ name }) => name);
    expect(names).toEqual(['admin', expect.stringMatching(/^admin-[0-9a-f]{8}$/)]);
  });

  it('is stored as a hash only', async () => {
    const { file } = await ensureAdminToken(database, dataDir);
    const [row] = await database.run<{ row: string }>(
      'whole-token',
      'SELECT tokens::text AS row FROM tokens',
    );
    expect(row?.row).not.toContain(secretIn(file));
    expect(existsSync(`${file}.${process.pid}`)).toBe(false);
  });
});
