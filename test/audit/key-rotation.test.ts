// @module-tag extended: chain.test.ts verifies with one key.
/** The key of the audit chain is replaced: by a call, which the key before it confirms, or because its replica stays away. */
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { auditKeyOf, keyIdInPem, newKeyPem } from '../../src/audit/audit-key.ts';
import { type Checkpoint, checkpointText } from '../../src/audit/chain.ts';
import { ChainVerifier, type VerifyReport } from '../../src/audit/chain-verifier.ts';
import { readRecord, recordLine } from '../../src/audit/export-record.ts';
import { AuditSealer } from '../../src/store/audit/audit-sealer.ts';
import { exportChain } from '../../src/store/audit/export-chain.ts';
import { FOREIGN_KEY_MS } from '../../src/store/audit/signing-key.ts';
import { Database } from '../../src/store/database/database.ts';
import { recordChange } from '../../src/store/events/record-change.ts';
import { fresh } from '../api/fleet.ts';
import { launch } from '../cli/harness.ts';
import { cloneDatabase, type TestDatabase } from '../parts/postgres.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';

function verified(lines: readonly string[], ...trustedKeys: string[]): VerifyReport {
  const verifier = new ChainVerifier({ trustedKeys, remembered: null });
  for (const line of lines) verifier.take(line);
  return verifier.finish();
}

const kinds = (report: VerifyReport) => [...new Set(report.findings.map(({ kind }) => kind))];

describe('ingot audit rotate-key', () => {
  let database: TestDatabase;
  let dataDir: string;
  let first: TestServer;
  let second: TestServer;
  let before: string;
  let beforePem: string;
  const file = () => join(dataDir, 'audit.key');

  async function lines(): Promise<string[]> {
    const all: string[] = [];
    for await (const { lines: some } of second.admin.exportAudit({})) all.push(...some);
    return all;
  }

  async function changedAndSealed(server: TestServer): Promise<void> {
    const name = fresh('pool');
    await server.admin.createPool({ name });
    await until(
      () =>
        server.sql<{ open: number }>(
          `SELECT count(*)::int AS open FROM events WHERE event_id > (SELECT max(last_event_id) FROM audit_blocks)`,
        ),
      ([row]) => row?.open === 0,
      20_000,
    );
  }

  beforeAll(async () => {
    database = await cloneDatabase();
    dataDir = mkdtempSync(join(tmpdir(), 'ingot-audit-rotation-'));
    first = await startTestServer({ database, dataDir });
    second = await startTestServer({ database, dataDir });
    before = (await first.admin.getAuditKey({})).keyId;
    beforePem = readFileSync(file(), 'utf8');
    await changedAndSealed(first);
  });
  afterAll(async () => {
    await second?.stop();
    await database?.drop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  test('prints the new public key, which replaces the file and is confirmed by the key before it', async () => {
    const { ended } = launch(first.grpcAddress, 'audit rotate-key', {
      cwd: dataDir,
      env: { INGOT_TOKEN: first.adminToken },
    });
    const run = await ended;
    expect(run).toMatchObject({ code: 0 });
    const after = keyIdInPem(run.stdout);
    expect(after).not.toBe(before);
    expect(run.stderr).toContain(`${after} signs from block `);
    expect(keyIdInPem(readFileSync(file(), 'utf8'))).toBe(after);
    expect(readFileSync(`${file()}.pub`, 'utf8')).toBe(run.stdout);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    const [event] = await first.sql<{ actor_id: string; metadata: unknown; address: string }>(
      `SELECT actor_id, metadata, address FROM events WHERE kind = 'audit' AND to_state = 'rotated'`,
    );
    expect(event).toMatchObject({
      actor_id: 'admin',
      address: '127.0.0.1',
      metadata: { key_id: after, previous_key_id: before },
    });
    expect(kinds(verified(await lines(), before))).toEqual([]);
  });

  test('both replicas seal on, and who knows either key verifies the whole log', async () => {
    await changedAndSealed(first);
    await first.stop();
    await changedAndSealed(second);
    const { keyId } = await second.admin.getAuditKey({});
    const all = await lines();
    for (const trusted of [[before], [keyId], [before, keyId], []])
      expect(verified(all, ...trusted).findings).toEqual([]);
    const [signed] = await second.sql<{ key_id: string }>(
      'SELECT key_id FROM audit_checkpoints ORDER BY block_no DESC LIMIT 1',
    );
    expect(signed?.key_id).toBe(keyId);
  });

  test('a block that the key before it signs afterwards is found, also by who trusts that key', async () => {
    const old = auditKeyOf(beforePem);
    const all = await lines();
    const { keyId } = await second.admin.getAuditKey({});
    const forged = all.map((line, place) => {
      const record = readRecord(line);
      const isLast =
        record.type === 'checkpoint' && all.slice(place + 1).every((l) => !l.includes('checkpoint'));
      if (!isLast) return line;
      const claim = { ...record, keyId: old.keyId };
      return recordLine({ ...claim, signature: old.sign(checkpointText(claim)) });
    });
    expect(forged).not.toEqual(all);
    expect(kinds(verified(forged, before))).toEqual(['key']);
    expect(kinds(verified(forged, keyId))).toEqual(['key']);
  });

  test('a successor that its predecessor did not sign is found', async () => {
    const stranger = auditKeyOf(newKeyPem());
    const all = (await lines()).map((line) => {
      const record = readRecord(line);
      if (record.type !== 'key' || record.previousKeyId === '') return line;
      return recordLine({ ...record, keyId: stranger.keyId, publicKey: stranger.publicKey });
    });
    expect(kinds(verified(all, before))).toContain('key');
  });

  test('that was cut off after the chain had the key goes on with it at the next start', async () => {
    const { keyId } = await second.admin.getAuditKey({});
    await second.stop();
    renameSync(file(), `${file()}.next`);
    writeFileSync(file(), beforePem, { mode: 0o600 });
    second = await startTestServer({ database, dataDir });
    await changedAndSealed(second);
    expect(keyIdInPem(readFileSync(file(), 'utf8'))).toBe(keyId);
    expect((await second.admin.getAuditKey({})).keyId).toBe(keyId);
    expect(verified(await lines(), keyId).findings).toEqual([]);
  });

  test('changes no setting in the record of the next start', async () => {
    const loaded = await second.sql<{ changes: unknown }>(
      `SELECT changes FROM events WHERE kind = 'settings' AND to_state = 'loaded' ORDER BY event_id DESC LIMIT 1`,
    );
    expect(loaded).toEqual([{ changes: [] }]);
  });

  test('that is repeated replaces nothing', async () => {
    const { keyId } = await second.admin.getAuditKey({});
    await expect(second.admin.rotateAuditKey({ keyId: before })).rejects.toMatchObject({
      reason: 'AUDIT_KEY_REPLACED',
      metadata: { key_id: keyId },
    });
    expect((await second.admin.getAuditKey({})).keyId).toBe(keyId);
  });

  test('needs a server that may replace the file', async () => {
    copyFileSync(file(), `${file()}.kept`);
    // A directory in the place of the file that the new key is written to.
    mkdirSync(join(`${file()}.next`, 'in-the-way'), { recursive: true });
    const { keyId } = await second.admin.getAuditKey({});
    await expect(second.admin.rotateAuditKey({ keyId })).rejects.toMatchObject({
      reason: 'AUDIT_KEY_NOT_WRITABLE',
    });
    rmSync(`${file()}.next`, { recursive: true });
    await changedAndSealed(second);
    expect(readFileSync(file(), 'utf8')).toBe(readFileSync(`${file()}.kept`, 'utf8'));
  });
});

describe('a replica with another key', () => {
  let clone: TestDatabase;
  let database: Database;
  let clock = 0;

  beforeAll(async () => {
    clone = await cloneDatabase();
    database = new Database({ url: clone.url, maxConnections: 2, onIdleError: () => {} });
    [one, other] = [sealerWith(newKeyPem()), sealerWith(newKeyPem())];
  });
  afterAll(async () => {
    await database.close();
    await clone.drop();
  });

  function sealerWith(pem: string) {
    let key = auditKeyOf(pem);
    const staged = auditKeyOf(newKeyPem());
    let head: Checkpoint | null = null;
    const notes: string[] = [];
    const sealer = new AuditSealer({
      database,
      keys: {
        current: () => key,
        reload: () => key,
        stage: () => staged,
        adopt: (next) => {
          key = next;
        },
      },
      head: {
        read: () => head,
        write: (next) => {
          head = next;
        },
        setAside: () => {},
        readLost: () => [],
      },
      watch: { passed: () => {}, failed: () => {} },
      now: () => new Date(),
      monotonicNow: () => clock,
      onHeadLost: () => notes.push('head lost'),
      onKeyReplaced: (keyId, previous) => notes.push(`${keyId} replaced ${previous}`),
      onKeyRetired: (keyId, successor) => notes.push(`${keyId} retired by ${successor}`),
    });
    return { sealer, notes, keyId: key.keyId };
  }

  const change = () =>
    database.transaction((session) =>
      recordChange(session, {
        kind: 'pool',
        subject: fresh('pool'),
        to: 'created',
        actor: { kind: 'system', id: 'test' },
      }),
    );

  async function exported(): Promise<string[]> {
    const all: string[] = [];
    const chain = exportChain(
      { database, heads: () => [], now: () => new Date() },
      { since: null, until: null, actor: '' },
    );
    for await (const some of chain) all.push(...some);
    return all;
  }

  let one: ReturnType<typeof sealerWith>;
  let other: ReturnType<typeof sealerWith>;

  test('waits for the one that has the key of the chain', async () => {
    await change();
    expect(await one.sealer.sealBlock()).toBeGreaterThan(0);
    await change();
    expect(await other.sealer.sealBlock()).toBe(0);
    clock += FOREIGN_KEY_MS - 1;
    expect(await other.sealer.sealBlock()).toBe(0);
    expect(await one.sealer.sealBlock()).toBe(1);
    expect(other.notes).toEqual([]);
  });

  test('takes over after 30 s, and verification says so until the verifier trusts both', async () => {
    await change();
    clock += 1;
    expect(await other.sealer.sealBlock()).toBeGreaterThan(0);
    expect(other.notes).toEqual([`${other.keyId} replaced ${one.keyId}`]);
    const lines = await exported();
    expect(lines.join('')).toContain('"to_state":"replaced"');
    const report = verified(lines, one.keyId);
    expect(kinds(report)).toContain('key');
    expect(report.findings[0]?.message).toContain(other.keyId);
    expect(verified(lines, one.keyId, other.keyId).findings).toEqual([]);
  });

  test('that was rotated seals nothing, however long the new one stays away', async () => {
    const stale = sealerWith(newKeyPem());
    await change();
    await stale.sealer.sealBlock();
    clock += FOREIGN_KEY_MS;
    expect(await stale.sealer.sealBlock()).toBeGreaterThan(0);
    const pem = newKeyPem();
    const [holder, copy] = [sealerWith(pem), sealerWith(pem)];
    await change();
    await holder.sealer.sealBlock();
    clock += FOREIGN_KEY_MS;
    await holder.sealer.sealBlock();
    const rotation = { replaces: holder.keyId, actor: { kind: 'admin', id: 'alice' } } as const;
    const next = await holder.sealer.rotateKey(rotation, async () => {});
    await change();
    await copy.sealer.sealBlock();
    clock += 10 * FOREIGN_KEY_MS;
    expect(await copy.sealer.sealBlock()).toBe(0);
    expect(await copy.sealer.sealBlock()).toBe(0);
    expect(copy.notes).toEqual([`${copy.keyId} retired by ${next.keyId}`]);
    await expect(copy.sealer.rotateKey(rotation, async () => {})).rejects.toMatchObject({
      reason: 'AUDIT_KEY_ELSEWHERE',
    });
    expect(await holder.sealer.sealBlock()).toBeGreaterThan(0);
  });
});
