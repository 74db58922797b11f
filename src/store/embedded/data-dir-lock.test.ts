import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lockDataDir } from './data-dir-lock.ts';
import { processStart } from './process-identity.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'ingot-lock-test-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const lockFile = () => join(dir, 'ingot.lock');
const ourPid = new RegExp(`in use by another Ingot, pid ${process.pid}$`);

test('a directory in use says which process holds it', async () => {
  const lock = await lockDataDir(dir);
  await expect(lockDataDir(dir)).rejects.toThrow(ourPid);
  lock.release();
  (await lockDataDir(dir)).release();
  expect(readdirSync(dir)).toEqual([]);
});

test('releasing twice does not take away the next holder’s lock', async () => {
  const first = await lockDataDir(dir);
  first.release();
  await lockDataDir(dir);
  first.release();
  await expect(lockDataDir(dir)).rejects.toThrow(ourPid);
});

test.each([
  ['of a pid that now belongs to another process', () => `${process.pid} earlier-boot/17\n`],
  ['of a pid that is free', () => '4194304 boot/1\n'],
  ['that a power cut emptied', () => ''],
])('a lock %s is taken over', async (_case, content) => {
  writeFileSync(lockFile(), content());
  await lockDataDir(dir);
  expect(readFileSync(lockFile(), 'utf8')).toBe(`${process.pid} ${processStart(process.pid)}\n`);
  expect(readdirSync(dir)).toEqual(['ingot.lock']);
});

test('the lock of a process that was killed is taken over, and not before it ended', async () => {
  const other = spawn('sleep', ['60'], { stdio: 'ignore' });
  await once(other, 'spawn');
  const pid = other.pid ?? 0;
  writeFileSync(lockFile(), `${pid} ${processStart(pid)}\n`);
  await expect(lockDataDir(dir)).rejects.toThrow(`pid ${pid}`);
  other.kill('SIGKILL');
  await once(other, 'exit');
  await lockDataDir(dir);
});

test('a process that died while taking over does not block the next', async () => {
  for (const suffix of ['', '.takeover', '.takeover.takeover']) {
    writeFileSync(`${lockFile()}${suffix}`, '4194304 boot/1\n');
  }
  await lockDataDir(dir);
  expect(readdirSync(dir)).toEqual(['ingot.lock']);
});

test('of many that take over at once exactly one succeeds', async () => {
  writeFileSync(lockFile(), '4194304 boot/1\n');
  const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => lockDataDir(dir)));
  expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1);
});
