import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { needs } from '../../test/parts/debian-packages.ts';
import { type ArchiveEntry, cpioArchive } from './cpio.ts';

const ENTRIES: readonly ArchiveEntry[] = [
  { kind: 'directory', path: 'dev' },
  { kind: 'device', path: 'dev/console', major: 5, minor: 1 },
  { kind: 'file', path: 'init', content: Buffer.from('hello'), mode: 0o755 },
];

describe('an archive', () => {
  it('has one record an entry, aligned to four bytes, and an end', () => {
    const archive = cpioArchive(ENTRIES);
    const text = archive.toString('latin1');
    expect(archive.length % 4).toBe(0);
    expect(text.match(/070701/g)).toHaveLength(4);
    expect(text).toContain('TRAILER!!!');
    // The mode of the device and its numbers.
    expect(text).toMatch(/070701.{8}00002180.{56}0000000500000001.{16}dev\/console/);
  });

  it('is the same for the same entries', () => {
    expect(cpioArchive(ENTRIES).equals(cpioArchive(ENTRIES))).toBe(true);
  });

  const programs = needs('busybox');
  it.skipIf(programs.isMissing)(programs.title('is one that cpio lists and reads'), () => {
    const input = cpioArchive(ENTRIES);
    const listed = spawnSync('busybox', ['cpio', '-t'], { input, encoding: 'utf8' });
    expect(listed.stdout.trim().split('\n')).toEqual(['dev', 'dev/console', 'init']);
    const read = spawnSync('busybox', ['cpio', '-i', '--to-stdout', 'init'], { input, encoding: 'utf8' });
    expect(read.stdout).toBe('hello');
  });
});
