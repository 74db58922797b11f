/**
 * Debian packages as a source of files. Nothing is installed: apt-get downloads a package and checks its signature, and dpkg
 * unpacks it into a temporary folder. Downloads are kept, and used again only if they have the digest that apt reports.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { aptOptions } from './apt.ts';
import type { Architecture } from './architecture.ts';
import { InstallerError } from './installer-error.ts';
import { runProgram } from './run-program.ts';

/** The architecture of the packages, and the folder of downloads. */
export interface PackageTarget {
  readonly architecture: Architecture;
  readonly cacheDir: string;
}

interface Download {
  /** The name for apt-get: name:architecture=version. */
  readonly name: string;
  readonly file: string;
  readonly sha256: string;
}

const PACKAGE_NAME = /^[a-z0-9][a-z0-9+.-]+$/;

/** The path of the .deb. A metapackage is followed to the kernel package that it depends on. */
export async function downloadPackage(name: string, target: PackageTarget): Promise<string> {
  if (!PACKAGE_NAME.test(name)) throw new InstallerError(`not a package name: ${JSON.stringify(name)}`);
  const [deb] = await downloadPackages([await followKernel(name, target)], target);
  if (deb === undefined) throw new InstallerError(`apt-get has no package ${name}: run apt-get update`);
  return deb;
}

/** Their paths. Unknown names are left out: a dependency may be a virtual package. */
export async function downloadPackages(
  names: readonly string[],
  { architecture, cacheDir }: PackageTarget,
): Promise<string[]> {
  const wrong = names.find((name) => !PACKAGE_NAME.test(name));
  if (wrong !== undefined) throw new InstallerError(`not a package name: ${JSON.stringify(wrong)}`);
  const options = await aptOptions(architecture, cacheDir);
  const downloads = await describeDownloads(
    names.map((name) => `${name}:${architecture}`),
    options,
  );
  await mkdir(cacheDir, { recursive: true });
  const absent: Download[] = [];
  for (const download of downloads)
    if ((await digestOf(join(cacheDir, download.file))) !== download.sha256) absent.push(download);
  if (absent.length > 0) await downloadAll(absent, cacheDir, options);
  return downloads.map(({ file }) => join(cacheDir, file));
}

/** One call of apt-get for all packages, because each call reads all lists. */
async function downloadAll(
  downloads: readonly Download[],
  cacheDir: string,
  options: readonly string[],
): Promise<void> {
  const draft = await mkdtemp(join(cacheDir, 'download-'));
  try {
    await runProgram('apt-get', [...options, '-q', 'download', ...downloads.map(({ name }) => name)], draft);
    for (const { name, file, sha256 } of downloads) {
      if ((await digestOf(join(draft, file))) !== sha256)
        throw new InstallerError(
          `apt-get download ${name}: the file does not have the digest of the package list`,
        );
      await rename(join(draft, file), join(cacheDir, file));
    }
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

export interface PackageFacts {
  readonly name: string;
  /** The first alternative of each. */
  readonly depends: readonly string[];
}

export async function packageFacts(deb: string): Promise<PackageFacts> {
  const printed = await runProgram('dpkg-deb', ['-f', deb, 'Package', 'Pre-Depends', 'Depends'], '/');
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(printed)?.[1] ?? '';
  const depends = [...field('Pre-Depends').split(','), ...field('Depends').split(',')]
    .map((item) => /^\s*([a-z0-9][a-z0-9+.-]+)/.exec(item)?.[1] ?? '')
    .filter((name) => name !== '');
  return { name: field('Package'), depends: [...new Set(depends)] };
}

/** A package file of the user may have another architecture: its control file says which. */
export async function expectArchitecture(deb: string, { architecture }: PackageTarget): Promise<void> {
  const found = (await runProgram('dpkg-deb', ['-f', deb, 'Architecture'], '/')).trim();
  if (found === architecture || found === 'all') return;
  throw new InstallerError(`${deb} is a package for ${found}, not for ${architecture}: see --arch`);
}

export async function unpackPackage(deb: string, into: string): Promise<void> {
  await runProgram('dpkg', ['-x', deb, into], into);
}

/** linux-image-cloud-amd64 contains only a dependency on linux-image-6.1.0-54-cloud-amd64. */
async function followKernel(name: string, { architecture, cacheDir }: PackageTarget): Promise<string> {
  if (!name.startsWith('linux-image')) return name;
  const options = await aptOptions(architecture, cacheDir);
  const asked = [...options, 'show', '--no-all-versions', `${name}:${architecture}`];
  const shown = await runProgram('apt-cache', asked, '/').catch(() => '');
  return /^Depends:.*?\b(linux-image-\d[a-z0-9+.-]*)/m.exec(shown)?.[1] ?? name;
}

/** One call for all packages. Files are named name_version_architecture.deb. */
async function describeDownloads(names: readonly string[], options: readonly string[]): Promise<Download[]> {
  const shown = await runProgram('apt-cache', [...options, 'show', '--no-all-versions', ...names], '/');
  return shown
    .split('\n\n')
    .filter((record) => record.trim() !== '')
    .map((record) => {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(record)?.[1] ?? '';
      const [name, version, architecture] = [field('Package'), field('Version'), field('Architecture')];
      const sha256 = field('SHA256');
      if (sha256 === '') throw new InstallerError(`apt has no SHA-256 of ${name}: run apt-get update`);
      return {
        name: `${name}:${architecture}=${version}`,
        file: `${name}_${version.replaceAll(':', '%3a')}_${architecture}.deb`,
        sha256,
      };
    });
}

async function digestOf(file: string): Promise<string | null> {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(file), hash);
  } catch {
    return null;
  }
  return hash.digest('hex');
}
