/**
 * Selects the kernel modules of an initramfs, and writes the two files that busybox's modprobe reads. A Debian package has no
 * modules.dep and no modules.alias: they are generated at its installation. Each module lists its dependencies and devices
 * itself, and they are read from there.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { isElf, sectionOf } from './elf.ts';
import { InstallerError } from './installer-error.ts';

export interface KernelModule {
  /** Relative to the folder of the kernel's release, such as kernel/drivers/net/virtio_net.ko. */
  readonly path: string;
  readonly content: Buffer;
  readonly aliases: readonly string[];
  /** The modules that must be loaded before, dependent modules first. */
  readonly needs: readonly string[];
}

interface FoundModule extends Omit<KernelModule, 'needs'> {
  readonly needsNames: readonly string[];
}

const ENDING = /\.ko(\.xz|\.zst|\.gz)?$/;
const UNPACKERS: Readonly<Record<string, string>> = { '.xz': 'xz', '.zst': 'zstd', '.gz': 'gzip' };

/** `wanted` names modules and folders below `kernel/`; see DRIVERS. */
export function selectModules(releaseDir: string, wanted: readonly string[]): KernelModule[] {
  const files = new Map(moduleFiles(releaseDir).map((file) => [moduleName(file), file]));
  const found = new Map<string, FoundModule>();
  const visit = (name: string): void => {
    const file = files.get(name);
    // No file: built in.
    if (file === undefined || found.has(name)) return;
    const module = readModule(releaseDir, file);
    found.set(name, module);
    for (const needed of module.needsNames) visit(needed);
  };
  for (const [name, file] of files) if (wanted.some((pattern) => isWanted(file, pattern))) visit(name);
  return [...found]
    .map(([name, { needsNames: _names, ...module }]) => ({ ...module, needs: needsOf(name, found) }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** modules.dep and modules.alias, for modprobe. */
export function moduleTables(modules: readonly KernelModule[]): { dep: string; alias: string } {
  const dep = modules.map(({ path, needs }) => `${path}:${needs.map((needed) => ` ${needed}`).join('')}\n`);
  const alias = modules.flatMap(({ path, aliases }) =>
    aliases.map((pattern) => `alias ${pattern} ${moduleName(path)}\n`),
  );
  return { dep: dep.join(''), alias: alias.join('') };
}

/** The last is loaded first, so each module comes before its dependencies. */
function needsOf(name: string, found: ReadonlyMap<string, FoundModule>): string[] {
  const order: string[] = [];
  // Soft dependencies may be circular.
  const seen = new Set([name]);
  const visit = (current: string): void => {
    const module = found.get(current);
    if (module === undefined || seen.has(current)) return;
    seen.add(current);
    for (const needed of module.needsNames) visit(needed);
    order.push(module.path);
  };
  for (const needed of found.get(name)?.needsNames ?? []) visit(needed);
  return order.reverse();
}

function moduleFiles(releaseDir: string): string[] {
  return readdirSync(join(releaseDir, 'kernel'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && ENDING.test(entry.name))
    .map((entry) => relative(releaseDir, join(entry.parentPath, entry.name)))
    .sort();
}

function isWanted(file: string, pattern: string): boolean {
  const path = file.replace(/^kernel\//, '').replace(ENDING, '');
  return pattern.endsWith('/') ? path.startsWith(pattern) : path === pattern;
}

/** In module names the kernel treats - and _ as the same. */
function moduleName(path: string): string {
  return path.replace(/^.*\//, '').replace(ENDING, '').replaceAll('-', '_');
}

function readModule(releaseDir: string, file: string): FoundModule {
  const content = unpacked(join(releaseDir, file));
  if (!isElf(content)) throw new InstallerError(`${file}: not a kernel module`);
  const info = sectionOf(content, '.modinfo').toString('latin1').split('\0');
  const values = (key: string) =>
    info.filter((line) => line.startsWith(`${key}=`)).map((line) => line.slice(key.length + 1));
  const words = (texts: readonly string[], separator: RegExp) =>
    texts.flatMap((text) => text.split(separator)).filter((word) => word !== '');
  // Of "pre: a b post: c", a and b must be loaded before.
  const before = values('softdep').map((text) => /pre:((?:\s+[^\s:]+(?!\S*:))*)/.exec(text)?.[1] ?? '');
  return {
    path: file.replace(ENDING, '.ko'),
    content,
    aliases: values('alias'),
    needsNames: [...words(values('depends'), /,/), ...words(before, /\s+/)].map(moduleName),
  };
}

/** Decompressed here, so that the machine needs less memory and the archive compresses better. */
function unpacked(file: string): Buffer {
  const ending = ENDING.exec(file)?.[1];
  if (ending === undefined) return readFileSync(file);
  const program = UNPACKERS[ending] ?? '';
  const { stdout, status } = spawnSync(program, ['-dc', file], { maxBuffer: 256 * 1024 * 1024 });
  if (status !== 0) throw new InstallerError(`can't unpack ${file}: is ${program} installed?`);
  return stdout;
}
