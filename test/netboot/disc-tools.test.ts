/** A disc of the installer, read by programs that we did not write. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bootDisc } from '../../src/domain/install/boot/boot-disc.ts';
import { findFile, needs } from '../parts/debian-packages.ts';

const programs = needs('discs', 'bootImages');
const tool = (name: string) => findFile(name) ?? name;

describe.skipIf(programs.isMissing)(programs.title('a disc of the installer'), () => {
  it.each([5_000_000, 50_000_000])('is one for xorriso and mtools, with a program of %i bytes', (bytes) => {
    const folder = mkdtempSync(join(tmpdir(), 'ingot-disc-'));
    try {
      const program = Buffer.alloc(bytes, 'an installer ');
      const { head, padding } = bootDisc('x86_64', bytes);
      const file = join(folder, 'disc.iso');
      writeFileSync(file, Buffer.concat([head, program, Buffer.alloc(padding)]));
      const image = join(folder, 'efi.img');
      const args = [
        '-indev',
        file,
        '-osirrox',
        'on',
        '-report_el_torito',
        'plain',
        '-extract',
        '/EFIBOOT.IMG',
        image,
      ];
      const report = execFileSync(tool('xorriso'), args, {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      expect(report).toMatch(/El Torito boot img :\s+1\s+UEFI\s+y\s+none/);
      expect(report).toMatch(/El Torito img path :\s+1\s+\/EFIBOOT\.IMG/);
      execFileSync(tool('mcopy'), ['-n', '-i', image, '::/EFI/BOOT/BOOTX64.EFI', join(folder, 'out')]);
      expect(readFileSync(join(folder, 'out')).equals(program)).toBe(true);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
