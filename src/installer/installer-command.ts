/** The command `installer build`, as data. */
import { join, resolve } from 'node:path';
import type { ExtraCommand } from '../cli/command-tree.ts';
import { INSTALLER_ARCHES } from '../domain/install/architecture.ts';
import { ARCHITECTURES, type Architecture, debianArchitecture } from './architecture.ts';
import type { BuiltInstaller } from './build-installer.ts';
import { InstallerError } from './installer-error.ts';
import type { ProgramSource } from './shared-programs.ts';

export interface InstallerEnvironment {
  readonly program: string;
  readonly cwd: string;
  /** The server's data directory, given what `--data-dir` says. */
  readonly dataDir: (said: string | undefined) => string;
  readonly writeOut: (text: string) => void;
  readonly writeErr: (text: string) => void;
}

const BUSYBOX_PACKAGE = 'busybox-static';
const WRONG_USE = 64;
/** Below the boot files, where boot scripts name them. */
const FOLDERS = { amd64: 'installer', arm64: 'installer/arm64' } as const satisfies Record<
  Architecture,
  string
>;

export function installerCommand(around: InstallerEnvironment): ExtraCommand {
  return {
    name: 'installer',
    description: 'The system that installs machines over the network',
    options: [],
    run: async () => {
      around.writeErr(`${around.program}: say what to do: ${around.program} installer build\n`);
      return WRONG_USE;
    },
    subcommands: [
      {
        name: 'build',
        description: 'Make its kernel and initramfs, for the server to serve',
        options: [
          {
            flags: '--data-dir <path>',
            description: 'the server’s data directory (INGOT_DATA_DIR, default .ingot)',
          },
          {
            flags: '--arch <name>',
            description: `the machines’ processor: ${INSTALLER_ARCHES.join(' or ')} (default ${INSTALLER_ARCHES[0]})`,
          },
          {
            flags: '--output <dir>',
            description:
              'where the files go (default boot/installer in the data directory, and boot/installer/arm64 for arm64)',
          },
          {
            flags: '--kernel-package <name>',
            description: `the Debian package of the kernel (default ${ARCHITECTURES.amd64.kernelPackage}; linux-image-amd64 has more drivers)`,
          },
          {
            flags: '--kernel-deb <file>',
            description:
              'the kernel’s package as a file; no package of programs is downloaded either: see --programs',
          },
          {
            flags: '--busybox <file>',
            description: `a static busybox, or its package (default: ${BUSYBOX_PACKAGE})`,
          },
          {
            flags: '--programs <dir>',
            description:
              'a folder with the packages of further programs and of their libraries (default: downloaded), or none',
          },
        ],
        helpAfter: `
Packages come from the apt sources of this machine; they are unpacked, not installed, and kept for the next time. Those for
another architecture need no change of this machine: its package lists are kept apart. Files that are there already are
replaced, each at once. A server serves no installer that does not understand it: build it again when it says so, which may be
after an update of Ingot.
Further programs are hdparm, nvme, qemu-img, sfdisk and zstd: without them the installer erases disks by overwriting only,
and refuses images in the formats zstd and qcow2, and user data. On stdout is what was made: SHA-256 and name, as sha256sum -c reads it.`,
        run: (options) => build(around, options),
      },
    ],
  };
}

async function build(
  around: InstallerEnvironment,
  options: Readonly<Record<string, unknown>>,
): Promise<number> {
  const said = (name: string) => (typeof options[name] === 'string' ? options[name] : undefined);
  const path = (name: string) => {
    const text = said(name);
    return text === undefined ? undefined : resolve(around.cwd, text);
  };
  try {
    if (said('kernelPackage') !== undefined && said('kernelDeb') !== undefined)
      throw new InstallerError('--kernel-package and --kernel-deb exclude each other');
    const architecture = debianArchitecture(said('arch') ?? INSTALLER_ARCHES[0]);
    if (architecture === null)
      throw new InstallerError(
        `--arch: ${JSON.stringify(said('arch'))} is none of ${INSTALLER_ARCHES.join(', ')}`,
      );
    // Loaded here, so that other commands do not pay for it.
    const { buildInstaller } = await import('./build-installer.ts');
    const { downloadCacheDir } = await import('./cache-dir.ts');
    const kernelFile = path('kernelDeb');
    const busyboxFile = path('busybox');
    const built = await buildInstaller({
      outputDir: path('output') ?? join(around.dataDir(said('dataDir')), 'boot', FOLDERS[architecture]),
      target: { architecture, cacheDir: downloadCacheDir() },
      kernel:
        kernelFile === undefined
          ? { name: said('kernelPackage') ?? ARCHITECTURES[architecture].kernelPackage }
          : { file: kernelFile },
      busybox: busyboxFile === undefined ? { name: BUSYBOX_PACKAGE } : { file: busyboxFile },
      programs: programSource(path('programs'), said('programs'), kernelFile),
    });
    around.writeErr(`Linux ${built.release} with ${built.modules} modules\n`);
    around.writeErr(programLines(built));
    for (const { path: file, bytes } of built.files) around.writeErr(`${file}: ${sizeText(bytes)}\n`);
    around.writeOut(built.files.map(({ sha256, path: file }) => `${sha256}  ${file}\n`).join(''));
    return 0;
  } catch (error) {
    if (!(error instanceof InstallerError)) throw error;
    around.writeErr(`${around.program}: ${error.message}\n`);
    return 1;
  }
}

/** Who names the kernel as a file wants nothing downloaded. */
function programSource(
  folder: string | undefined,
  said: string | undefined,
  kernelFile: string | undefined,
): ProgramSource {
  if (said === 'none') return 'none';
  if (folder !== undefined) return { folder };
  return kernelFile === undefined ? 'download' : 'none';
}

function programLines({ programs, absentPrograms }: BuiltInstaller): string {
  const names = ['busybox', ...programs.map(({ name }) => name)].join(', ');
  const absent = absentPrograms.map(({ name, does }) => `without ${name}, which ${does} (see --programs)\n`);
  return `programs: ${names}\n${absent.join('')}`;
}

function sizeText(bytes: number): string {
  return bytes < 1024 * 1024 ? `${bytes} bytes` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
