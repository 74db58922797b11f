/** How the installer proves what it wrote, with busybox's shell on a file in place of a disk. */
import { spawnSync } from 'node:child_process';
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needs } from '../../../test/parts/debian-packages.ts';
import { evidenceMessage } from '../../domain/install/install-evidence.ts';

const programs = needs('busybox');
const scripts = fileURLToPath(new URL('.', import.meta.url));
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'ingot-evidence-'));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function sh(script: string, input: string | Buffer = ''): string {
  const { stdout, stderr } = spawnSync('busybox', ['sh', '-c', `. ${scripts}/evidence.sh\n${script}`], {
    input,
    encoding: 'utf8',
  });
  if (stderr !== '') throw new Error(stderr);
  return stdout.trim();
}

describe.skipIf(programs.isMissing)(programs.title('the evidence of an installation'), () => {
  it.each(['Jefe', '6\\-6_6', 'x'.repeat(64), randomBytes(24).toString('base64url')])(
    'is signed as HMAC-SHA-256 with the key %s',
    (key) => {
      const text = 'what do ya want for nothing?\n%s \\x41';
      const signed = createHmac('sha256', key).update(text).digest('hex');
      expect(sh(`hmac_sha256 '${key}'`, text)).toBe(signed);
    },
  );

  const proved = (disk: Buffer, image: Buffer) => {
    writeFileSync(join(root, 'disk'), disk);
    return sh(`
      say() { :; }
      forget_disk() { :; }
      make_unbootable() { echo unbootable; }
      fail() { echo "failed: $1"; exit; }
      in_background() { "$@"; }
      follow() { :; }
      hash_disk() { :; }
      disk_digest() { head -c "$bytes" ${root}/disk | sha256sum | cut -d ' ' -f 1; }
      mac=52:54:00:00:00:01 token=boot-token format=raw disk=vda
      sha256=${sha256(image)} unpacked=${sha256(image)} bytes=${image.length}
      prove_written
      echo "{\${evidence#,}}"
    `);
  };
  const image = randomBytes(5000);

  it('says what was read back from the disk, in the form that the server checks', () => {
    const disk = Buffer.concat([image, randomBytes(3000)]);
    const { evidence } = JSON.parse(proved(disk, image));
    const { signature, ...said } = evidence;
    expect(said).toEqual({ image_sha256: sha256(image), bytes_written: 5000, sha256: sha256(image) });
    const message = evidenceMessage('52:54:00:00:00:01', said);
    expect(signature).toBe(createHmac('sha256', 'boot-token').update(message).digest('hex'));
  });

  it('is not given when the disk has something else, and the disk is made unbootable', () => {
    const disk = Buffer.from(image);
    disk[4999] = (disk[4999] ?? 0) ^ 1;
    expect(proved(disk, image)).toBe(
      `unbootable\nfailed: what was read back from vda is not the image: expected ${sha256(image)} got ${sha256(disk)}`,
    );
  });
});
