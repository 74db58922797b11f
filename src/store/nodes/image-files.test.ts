import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { processStart } from '../embedded/process-identity.ts';
import { ImageFiles } from './image-files.ts';

const BYTES = Buffer.from('an image');
const SHA256 = createHash('sha256').update(BYTES).digest('hex');
const PIECE = { sha256: SHA256, start: 0, totalBytes: BYTES.length, bytes: BYTES };

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'ingot-test-images-'));
  mkdirSync(join(dataDir, 'images'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

const lockOf = (holder: string) =>
  writeFileSync(join(dataDir, 'images', `${SHA256}.part.lock`), `${holder}\n`);

it('an upload that another worker writes to is refused, and nothing is touched', async () => {
  lockOf(`${process.ppid} ${processStart(process.ppid)}`);
  await expect(new ImageFiles(dataDir).append(PIECE)).rejects.toMatchObject({ reason: 'UPLOAD_BUSY' });
  expect(readdirSync(join(dataDir, 'images'))).toEqual([`${SHA256}.part.lock`]);
});

it('a worker that died while it wrote holds up no other', async () => {
  lockOf('4194304 boot/1');
  expect(await new ImageFiles(dataDir).append(PIECE)).toBe(true);
  expect(readdirSync(join(dataDir, 'images'))).toEqual([SHA256]);
});
