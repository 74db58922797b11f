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
  /** The server's data directory. `option` is the value of --data-dir. */
  readonly dataDir: (option: string | undefined) => string;
  readonly writeOut: (text: string) => void;
  readonly writeErr: (text: string) => void;
}

const BUSYBOX_PACKAGE = 'busybox-static';
const WRONG_USE = 64;
/** The folders in the boot folder, which boot scripts name. */
const FOLDERS = { amd64: 'installer', arm64: 'installer/arm64' } as const satisfies Record<
  Architecture,
  string
>;

export function installerCommand(environment: InstallerEnvironment): ExtraCommand {
  return {
    name: 'installer',
    description: 'The system that installs machines over the network',
    options: [],
    run: async () => {
      environment.writeErr(
        `${environment.program}: missing command: ${environment.program} installer build\n`,
      );
      return WRONG_USE;
    },
    subcommands: [
      {
        name: 'build',
        description: 'Build its kernel and initramfs, which the server serves',
        options: [
          {
            flags: '--data-dir <path>',
            description: "the server's data directory (INGOT_DATA_DIR, default .ingot)",
          },
          {
            flags: '--arch <name>',
            description: `the CPU architecture of the machines: ${INSTALLER_ARCHES.join(' or ')} (default ${INSTALLER_ARCHES[0]})`,
          },
          {
            flags: '--output <dir>',
            description:
              'the output folder (default boot/installer in the data directory, and boot/installer/arm64 for arm64)',
          },
          {
            flags: '--kernel-package <name>',
            description: `the Debian package of the kernel (default ${ARCHITECTURES.amd64.kernelPackage}; linux-image-amd64 has more drivers)`,
          },
          {
            flags: '--kernel-deb <file>',
            description:
              'the kernel package as a file; then no package of programs is downloaded either: see --programs',
          },
          {
            flags: '--busybox <file>',
            description: `a static busybox, or its package (default: ${BUSYBOX_PACKAGE})`,
          },
          {
            flags: '--programs <dir>',
            description:
              'a folder with the packages of further programs and their libraries (default: downloaded), or none',
          },
        ],
        helpAfter: `
Packages come from the apt sources of this machine. They are unpacked, not installed, and kept for the next build. Another
architecture needs no change of this machine: its package lists are separate. Existing files are replaced atomically. A
server does not serve an installer that is too old for it: build it again when the server says so, which may be after an
update of Ingot.
Further programs are hdparm, nvme, qemu-img, sfdisk and zstd: without them the installer erases disks by overwriting only,
and refuses images in the formats zstd and qcow2, and user data. The output lists the SHA-256 and name of each file, for
sha256sum -c.`,
        run: (options) => build(environment, options),
      },
    ],
  };
}

async function build(
  environment: InstallerEnvironment,
  options: Readonly<Record<string, unknown>>,
): Promise<number> {
  const optionOf = (name: string) => (typeof options[name] === 'string' ? options[name] : undefined);
  const path = (name: string) => {
    const text = optionOf(name);
    return text === undefined ? undefined : resolve(environment.cwd, text);
  };
  try {
    if (optionOf('kernelPackage') !== undefined && optionOf('kernelDeb') !== undefined)
      throw new InstallerError('--kernel-package and --kernel-deb are mutually exclusive');
    const architecture = debianArchitecture(optionOf('arch') ?? INSTALLER_ARCHES[0]);
    if (architecture === null)
      throw new InstallerError(
        `--arch: ${JSON.stringify(optionOf('arch'))} is none of ${INSTALLER_ARCHES.join(', ')}`,
      );
    // Loaded here, so that other commands start faster.
    const { buildInstaller } = await import('./build-installer.ts');
    const { downloadCacheDir } = await import('./cache-dir.ts');
    const kernelFile = path('kernelDeb');
    const busyboxFile = path('busybox');
    const built = await buildInstaller({
      outputDir:
        path('output') ?? join(environment.dataDir(optionOf('dataDir')), 'boot', FOLDERS[architecture]),
      target: { architecture, cacheDir: downloadCacheDir() },
      kernel:
        kernelFile === undefined
          ? { name: optionOf('kernelPackage') ?? ARCHITECTURES[architecture].kernelPackage }
          : { file: kernelFile },
      busybox: busyboxFile === undefined ? { name: BUSYBOX_PACKAGE } : { file: busyboxFile },
      programs: programSource(path('programs'), optionOf('programs'), kernelFile),
    });
    environment.writeErr(`Linux ${built.release} with ${built.modules} modules\n`);
    environment.writeErr(programLines(built));
    for (const { path: file, bytes } of built.files) environment.writeErr(`${file}: ${sizeText(bytes)}\n`);
    environment.writeOut(built.files.map(({ sha256, path: file }) => `${sha256}  ${file}\n`).join(''));
    return 0;
  } catch (error) {
    if (!(error instanceof InstallerError)) throw error;
    environment.writeErr(`${environment.program}: ${error.message}\n`);
    return 1;
  }
}

/** With the kernel as a file, nothing is downloaded. */
function programSource(
  folder: string | undefined,
  programs: string | undefined,
  kernelFile: string | undefined,
): ProgramSource {
  if (programs === 'none') return 'none';
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
