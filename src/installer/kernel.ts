/** The kernel and busybox of an initramfs, from Debian packages or from files. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { downloadPackage, expectArchitecture, type PackageTarget, unpackPackage } from './debian-package.ts';
import { InstallerError } from './installer-error.ts';
import { type KernelModule, selectModules } from './kernel-modules.ts';

export interface Kernel {
  readonly release: string;
  readonly image: Buffer;
  readonly modules: readonly KernelModule[];
}

/** The name of a package to download, or a file. */
export type PackageSource = { readonly name: string } | { readonly file: string };

export async function readKernel(
  source: PackageSource,
  target: PackageTarget,
  drivers: readonly string[],
): Promise<Kernel> {
  return withUnpacked(source, target, (root) => {
    const bootDir = join(root, 'boot');
    const image = existsSync(bootDir)
      ? readdirSync(bootDir).find((name) => name.startsWith('vmlinuz-'))
      : undefined;
    if (image === undefined)
      throw new InstallerError(`${nameOf(source)} contains no kernel (boot/vmlinuz-*)`);
    const release = image.slice('vmlinuz-'.length);
    const releaseDir = ['lib/modules', 'usr/lib/modules']
      .map((dir) => join(root, dir, release))
      .find((dir) => existsSync(join(dir, 'kernel')));
    if (releaseDir === undefined)
      throw new InstallerError(`${nameOf(source)} contains no modules (lib/modules/${release})`);
    const modules = selectModules(releaseDir, drivers);
    return { release, image: readFileSync(join(bootDir, image)), modules };
  });
}

/** A file may be the program itself, or a package that contains it. */
export async function readBusybox(source: PackageSource, target: PackageTarget): Promise<Buffer> {
  if ('file' in source && !source.file.endsWith('.deb')) return readGiven(source.file);
  return withUnpacked(source, target, (root) => {
    const found = ['bin/busybox', 'usr/bin/busybox'].find((path) => existsSync(join(root, path)));
    if (found === undefined) throw new InstallerError(`${nameOf(source)} contains no busybox`);
    return readFileSync(join(root, found));
  });
}

async function withUnpacked<T>(
  source: PackageSource,
  target: PackageTarget,
  read: (root: string) => T,
): Promise<T> {
  const deb = 'file' in source ? source.file : await downloadPackage(source.name, target);
  if (!existsSync(deb)) throw new InstallerError(`there is no file ${deb}`);
  await expectArchitecture(deb, target);
  const root = await mkdtemp(join(tmpdir(), 'ingot-installer-'));
  try {
    await unpackPackage(deb, root);
    return read(root);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

function readGiven(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new InstallerError(error instanceof Error ? error.message : String(error));
  }
}

function nameOf(source: PackageSource): string {
  return 'file' in source ? source.file : source.name;
}
