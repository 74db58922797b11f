/** Builds an initramfs of busybox, kernel modules and an init script. */
import { gzipSync } from 'node:zlib';
import { type ArchiveEntry, cpioArchive } from './cpio.ts';
import { isStaticProgram } from './elf.ts';
import { InstallerError } from './installer-error.ts';
import { type KernelModule, moduleTables } from './kernel-modules.ts';
import type { ProgramFile } from './shared-programs.ts';

export interface InitramfsParts {
  /** The output of `uname -r` in that kernel. */
  readonly release: string;
  readonly modules: readonly KernelModule[];
  readonly busybox: Buffer;
  /** Further programs, with their libraries. */
  readonly programs?: readonly ProgramFile[];
  /** The first process. */
  readonly init: string;
  /** The script that busybox's udhcpc runs for its lease. */
  readonly udhcpcEvent: string;
  /** The scripts that init sources from /installer. */
  readonly scripts?: readonly InstallerScript[];
}

export interface InstallerScript {
  readonly name: string;
  readonly text: string;
}

const FOLDERS = ['bin', 'dev', 'etc', 'proc', 'sys', 'tmp'];

export function initramfs(parts: InitramfsParts): Buffer {
  const { release, modules, busybox, init, udhcpcEvent, programs = [], scripts = [] } = parts;
  if (!isStaticProgram(busybox))
    throw new InstallerError("busybox must be a static program: Debian's package is busybox-static");
  const moduleDir = `lib/modules/${release}`;
  const tables = moduleTables(modules);
  const files: ArchiveEntry[] = [
    program('init', Buffer.from(init)),
    program('bin/busybox', busybox),
    ...programs.map(({ path, content }) => program(path, content)),
    program('bin/udhcpc-event', Buffer.from(udhcpcEvent)),
    ...scripts.map(({ name, text }) => file(`installer/${name}`, Buffer.from(text))),
    file(`${moduleDir}/modules.dep`, Buffer.from(tables.dep)),
    file(`${moduleDir}/modules.alias`, Buffer.from(tables.alias)),
    ...modules.map(({ path, content }) => file(`${moduleDir}/${path}`, content)),
  ];
  const folders = new Set([...FOLDERS, ...files.flatMap(({ path }) => foldersOf(path))]);
  const entries: ArchiveEntry[] = [
    // A folder sorts before its content.
    ...[...folders].sort().map((path): ArchiveEntry => ({ kind: 'directory', path })),
    { kind: 'device', path: 'dev/console', major: 5, minor: 1 },
    ...files,
  ];
  // Higher levels take three times as long and save 0.2 %.
  return gzipSync(cpioArchive(entries), { level: 6 });
}

function program(path: string, content: Buffer): ArchiveEntry {
  return { kind: 'file', path, content, mode: 0o755 };
}

function file(path: string, content: Buffer): ArchiveEntry {
  return { kind: 'file', path, content, mode: 0o644 };
}

function foldersOf(path: string): string[] {
  const words = path.split('/').slice(0, -1);
  return words.map((_word, index) => words.slice(0, index + 1).join('/'));
}
