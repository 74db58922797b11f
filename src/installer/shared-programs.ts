/**
 * Programs with their shared libraries, from Debian packages. None of them runs here, and this host's loader is not used:
 * the dynamic section of each file lists the libraries that it needs, and the dependencies of its package name the packages
 * that may contain them. Packages are fetched only while a library is missing.
 *
 * In the initramfs all libraries are in /lib, which every loader of Debian searches, and the loader has the path that programs
 * name.
 */
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, sep } from 'node:path';
import { ARCHITECTURES } from './architecture.ts';
import {
  downloadPackages,
  type PackageFacts,
  type PackageTarget,
  packageFacts,
  unpackPackage,
} from './debian-package.ts';
import { interpreterOf, isElf, machineOf, neededOf } from './elf.ts';
import { InstallerError } from './installer-error.ts';
import { PROGRAMS, type Program } from './program-list.ts';

/** `download`: from apt. A folder: contains all of them as .deb files. */
export type ProgramSource = 'download' | 'none' | { readonly folder: string };

export interface ProgramFile {
  /** The path in the initramfs, without the leading slash. */
  readonly path: string;
  readonly content: Buffer;
}

export interface SharedPrograms {
  readonly found: readonly Program[];
  readonly absent: readonly Program[];
  /** Sorted by path. */
  readonly files: readonly ProgramFile[];
}

interface UnpackedPackage extends PackageFacts {
  readonly dir: string;
}

interface Library {
  readonly content: Buffer;
  readonly from: UnpackedPackage;
}

const PROGRAM_DIRS = ['bin', 'sbin', 'usr/bin', 'usr/sbin'];
const LIBRARY_DIRS = ['lib', 'lib64', 'usr/lib', 'usr/lib64'];

export async function readPrograms(source: ProgramSource, target: PackageTarget): Promise<SharedPrograms> {
  if (source === 'none') return { found: [], absent: PROGRAMS, files: [] };
  const root = await mkdtemp(join(tmpdir(), 'ingot-programs-'));
  try {
    const packages = new UnpackedPackages(root, target);
    if (source === 'download')
      await packages.add(await download(new Set(PROGRAMS.map((program) => program.package)), target));
    else await packages.add(packagesIn(source.folder));
    const found = PROGRAMS.filter(({ name }) => packages.program(name) !== null);
    const files = await closure(found, packages, source);
    return { found, absent: PROGRAMS.filter((program) => !found.includes(program)), files };
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** The programs with all libraries that they need. Fetches further packages for them. */
async function closure(
  programs: readonly Program[],
  packages: UnpackedPackages,
  source: ProgramSource,
): Promise<ProgramFile[]> {
  for (;;) {
    const { files, missing } = collect(programs, packages);
    if (missing.size === 0) return files.sort((a, b) => (a.path < b.path ? -1 : 1));
    const next = new Set([...missing.values()].flatMap(({ depends }) => depends));
    for (const known of packages.names()) next.delete(known);
    const debs = source === 'download' ? await download(next, packages.target) : [];
    if (debs.length === 0) {
      const [library, { name }] = [...missing][0] ?? ['', { name: '' }];
      throw new InstallerError(`no package contains ${library}, which ${name} needs`);
    }
    await packages.add(debs);
  }
}

/** The files that are found, and the missing libraries, each with a package that needs it. */
function collect(programs: readonly Program[], packages: UnpackedPackages) {
  const files = new Map<string, Buffer>();
  const missing = new Map<string, UnpackedPackage>();
  const loaders = new Set<string>();
  const visit = ({ content, from }: Library): void => {
    for (const name of neededOf(content)) {
      if (files.has(`lib/${name}`) || loaders.has(name)) continue;
      const library = packages.library(name);
      if (library === null) {
        missing.set(name, from);
      } else {
        files.set(`lib/${name}`, library.content);
        visit(library);
      }
    }
  };
  for (const { name } of programs) {
    const program = packages.program(name);
    if (program === null) continue;
    files.set(`bin/${name}`, program.content);
    const loader = interpreterOf(program.content);
    if (loader !== null) {
      loaders.add(basename(loader));
      const file = packages.library(basename(loader));
      if (file === null) missing.set(basename(loader), program.from);
      else files.set(loader.replace(/^\/+/, ''), file.content);
    }
    visit(program);
  }
  return { files: [...files].map(([path, content]): ProgramFile => ({ path, content })), missing };
}

class UnpackedPackages {
  private readonly packages: UnpackedPackage[] = [];
  /** Paths of files and links in library folders, by file name. */
  private readonly libraries = new Map<string, { readonly path: string; readonly from: UnpackedPackage }[]>();
  private readonly root: string;
  readonly target: PackageTarget;

  constructor(root: string, target: PackageTarget) {
    this.root = root;
    this.target = target;
  }

  names(): string[] {
    return this.packages.map(({ name }) => name);
  }

  async add(debs: readonly string[]): Promise<void> {
    for (const deb of debs) {
      const dir = await mkdtemp(join(this.root, 'package-'));
      await unpackPackage(deb, dir);
      const added = { ...(await packageFacts(deb)), dir };
      if (this.names().includes(added.name))
        throw new InstallerError(`there are two packages of ${added.name}: ${deb} is one of them`);
      this.packages.push(added);
      for (const path of libraryFiles(dir)) {
        const same = this.libraries.get(basename(path)) ?? [];
        this.libraries.set(basename(path), [...same, { path, from: added }]);
      }
    }
  }

  program(name: string): Library | null {
    for (const from of this.packages)
      for (const dir of PROGRAM_DIRS) {
        const content = this.read(from, join(from.dir, dir, name));
        if (content !== null) return { content, from };
      }
    return null;
  }

  /** The shortest path: variants for certain processors are in subfolders. */
  library(name: string): Library | null {
    const found = this.libraries.get(name)?.toSorted((a, b) => a.path.length - b.path.length) ?? [];
    for (const { path, from } of found) {
      const content = this.read(from, path);
      if (content !== null) return { content, from };
    }
    return null;
  }

  /** Null for a file of another architecture, and for a link out of its package, into this host. */
  private read({ dir }: UnpackedPackage, path: string): Buffer | null {
    if (!existsSync(path) || !realpathSync(path).startsWith(`${realpathSync(dir)}${sep}`)) return null;
    const content = readFileSync(path);
    const { elfMachine } = ARCHITECTURES[this.target.architecture];
    return isElf(content) && machineOf(content) === elfMachine ? content : null;
  }
}

function libraryFiles(dir: string): string[] {
  return LIBRARY_DIRS.map((name) => join(dir, name))
    .filter((path) => existsSync(path))
    .flatMap((path) => readdirSync(path, { recursive: true, withFileTypes: true }))
    .filter((entry) => (entry.isFile() || entry.isSymbolicLink()) && /\.so(\.|$)/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

function packagesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith('.deb') && !name.startsWith('linux-image'))
      .sort()
      .map((name) => join(folder, name));
  } catch (error) {
    throw new InstallerError(error instanceof Error ? error.message : String(error));
  }
}

async function download(names: ReadonlySet<string>, target: PackageTarget): Promise<string[]> {
  return names.size === 0 ? [] : downloadPackages([...names], target);
}
