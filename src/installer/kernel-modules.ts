/**
 * Which modules of a kernel go into an initramfs, and the two files by which busybox's modprobe finds its way among them.
 * A Debian package has no modules.dep and no modules.alias, they are made when it is installed; but each module says for
 * itself what it needs and which devices it is for, and that is where we read it.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { isElf, sectionOf } from './elf.ts';
import { InstallerError } from './installer-error.ts';

export interface KernelModule {
  /** Below the folder of the kernel's release, such as kernel/drivers/net/virtio_net.ko. */
  readonly path: string;
  readonly content: Buffer;
  readonly aliases: readonly string[];
  /** Paths of the modules that must be there before, those that need others first. */
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
    // Not a file of its own: built in.
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

/** The files of the tables that modprobe reads. */
export function moduleTables(modules: readonly KernelModule[]): { dep: string; alias: string } {
  const dep = modules.map(({ path, needs }) => `${path}:${needs.map((needed) => ` ${needed}`).join('')}\n`);
  const alias = modules.flatMap(({ path, aliases }) =>
    aliases.map((pattern) => `alias ${pattern} ${moduleName(path)}\n`),
  );
  return { dep: dep.join(''), alias: alias.join('') };
}

/** The last is loaded first, so everything comes before what it needs itself. */
function needsOf(name: string, found: ReadonlyMap<string, FoundModule>): string[] {
  const order: string[] = [];
  // What a module would only like to find loaded may lead back to it.
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

/** The kernel does not tell - from _ in names. */
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
  // Of "pre: a b post: c", a and b must be there before.
  const before = values('softdep').map((text) => /pre:((?:\s+[^\s:]+(?!\S*:))*)/.exec(text)?.[1] ?? '');
  return {
    path: file.replace(ENDING, '.ko'),
    content,
    aliases: values('alias'),
    needsNames: [...words(values('depends'), /,/), ...words(before, /\s+/)].map(moduleName),
  };
}

/** Unpacked here, so that the machine needs no memory for both, and the archive packs better. */
function unpacked(file: string): Buffer {
  const ending = ENDING.exec(file)?.[1];
  if (ending === undefined) return readFileSync(file);
  const program = UNPACKERS[ending] ?? '';
  const { stdout, status } = spawnSync(program, ['-dc', file], { maxBuffer: 256 * 1024 * 1024 });
  if (status !== 0) throw new InstallerError(`${file} can’t be unpacked: is ${program} installed?`);
  return stdout;
}
