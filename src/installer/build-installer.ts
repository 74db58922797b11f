/**
 * Builds the two files that a machine boots for its installation: a kernel, and an initramfs whose init is init.sh. A third
 * file, written last, lists the kernel parameters that they support.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  INSTALLER_INTERFACE,
  INSTALLER_MANIFEST,
  manifestText,
} from '../domain/install/installer-manifest.ts';
import { ARCHITECTURES } from './architecture.ts';
import type { PackageTarget } from './debian-package.ts';
import { DRIVERS } from './driver-list.ts';
import { isElf, machineOf } from './elf.ts';
import { type InstallerScript, initramfs } from './initramfs.ts';
import { InstallerError } from './installer-error.ts';
import { type PackageSource, readBusybox, readKernel } from './kernel.ts';
import type { Program } from './program-list.ts';
import { type ProgramSource, readPrograms } from './shared-programs.ts';

export interface InstallerOptions {
  readonly outputDir: string;
  readonly target: PackageTarget;
  readonly kernel: PackageSource;
  readonly busybox: PackageSource;
  readonly programs: ProgramSource;
}

export interface BuiltInstaller {
  readonly release: string;
  readonly modules: number;
  readonly programs: readonly Program[];
  /** Programs that are missing, with what they are for. */
  readonly absentPrograms: readonly Program[];
  readonly files: readonly { readonly path: string; readonly bytes: number; readonly sha256: string }[];
}

/** The build is reproducible. Each file is replaced atomically: a machine that boots meanwhile gets the old or the new one. */
export async function buildInstaller(options: InstallerOptions): Promise<BuiltInstaller> {
  const { outputDir, target } = options;
  const kernel = await readKernel(options.kernel, target, DRIVERS);
  const busybox = await readBusybox(options.busybox, target);
  if (!isElf(busybox) || machineOf(busybox) !== ARCHITECTURES[target.architecture].elfMachine)
    throw new InstallerError(`busybox must be a static program for ${target.architecture}`);
  const programs = await readPrograms(options.programs, target);
  const archive = initramfs({
    release: kernel.release,
    modules: kernel.modules,
    busybox,
    programs: programs.files,
    init: scriptText('init.sh'),
    udhcpcEvent: scriptText('udhcpc-event.sh'),
    scripts: nounScripts(),
  });
  const manifest = manifestText({ interface: INSTALLER_INTERFACE, initrdBytes: archive.length });
  const files = [
    { path: join(outputDir, 'vmlinuz'), content: kernel.image },
    { path: join(outputDir, 'initrd.gz'), content: archive },
    { path: join(outputDir, INSTALLER_MANIFEST), content: Buffer.from(manifest) },
  ];
  await replaceAll(outputDir, files);
  return {
    release: kernel.release,
    modules: kernel.modules.length,
    programs: programs.found,
    absentPrograms: programs.absent,
    files: files.map(({ path, content }) => ({
      path,
      bytes: content.length,
      sha256: createHash('sha256').update(content).digest('hex'),
    })),
  };
}

const SCRIPTS = new URL('scripts/', import.meta.url);
const ENTRY_SCRIPTS = ['init.sh', 'udhcpc-event.sh'] as const;

export function scriptText(name: (typeof ENTRY_SCRIPTS)[number]): string {
  return readFileSync(new URL(name, SCRIPTS), 'utf8');
}

/** The scripts that init.sh sources: all scripts beside it, except those that run as programs. */
function nounScripts(): InstallerScript[] {
  return readdirSync(SCRIPTS)
    .filter((name) => name.endsWith('.sh') && !ENTRY_SCRIPTS.some((entry) => entry === name))
    .sort()
    .map((name) => ({ name, text: readFileSync(new URL(name, SCRIPTS), 'utf8') }));
}

async function replaceAll(
  outputDir: string,
  files: readonly { readonly path: string; readonly content: Buffer }[],
): Promise<void> {
  const drafts = files.map(({ path }) => `${path}.${process.pid}.new`);
  try {
    await mkdir(outputDir, { recursive: true });
    for (const [index, { content }] of files.entries()) await writeFile(drafts[index] ?? '', content);
    for (const [index, { path }] of files.entries()) {
      // A signature of the file before would be none of this one.
      await rm(`${path}.sig`, { force: true });
      await rename(drafts[index] ?? '', path);
    }
  } catch (error) {
    throw new InstallerError(
      `can't write to ${outputDir}: ${error instanceof Error ? error.message : error}`,
    );
  } finally {
    for (const draft of drafts) await rm(draft, { force: true });
  }
}
