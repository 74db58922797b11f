/**
 * Debian packages as a source of files. Nothing is installed: apt-get downloads a package, having checked its signature,
 * and dpkg unpacks it into a folder of ours. Downloads are kept, and believed again only by the digest that apt names.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { InstallerError } from './installer-error.ts';

interface Download {
  readonly file: string;
  readonly sha256: string;
}

const PACKAGE_NAME = /^[a-z0-9][a-z0-9+.-]+$/;

/** The path of the .deb. A package that only points at the kernel of the day is followed to that kernel. */
export async function downloadPackage(name: string, cacheDir: string): Promise<string> {
  if (!PACKAGE_NAME.test(name))
    throw new InstallerError(`not the name of a package: ${JSON.stringify(name)}`);
  const real = await followKernel(name);
  const { file, sha256 } = await describeDownload(real);
  await mkdir(cacheDir, { recursive: true });
  const kept = join(cacheDir, file);
  if ((await digestOf(kept)) === sha256) return kept;
  const draft = await mkdtemp(join(cacheDir, 'download-'));
  try {
    await run('apt-get', ['-q', 'download', real], draft);
    if ((await digestOf(join(draft, file))) !== sha256)
      throw new InstallerError(`apt-get download ${real}: it is not the file that the package list names`);
    await rename(join(draft, file), kept);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return kept;
}

export async function unpackPackage(deb: string, into: string): Promise<void> {
  await run('dpkg', ['-x', deb, into], into);
}

/** linux-image-cloud-amd64 holds nothing but a dependency on linux-image-6.1.0-54-cloud-amd64. */
async function followKernel(name: string): Promise<string> {
  if (!name.startsWith('linux-image')) return name;
  const shown = await run('apt-cache', ['show', '--no-all-versions', name], '/').catch(() => '');
  return /^Depends:.*?\b(linux-image-\d[a-z0-9+.-]*)/m.exec(shown)?.[1] ?? name;
}

/** apt-get prints: 'address' file size SHA256:digest */
async function describeDownload(name: string): Promise<Download> {
  const printed = await run('apt-get', ['-q', 'download', '--print-uris', name], '/');
  const line = /^'\S+' (\S+\.deb) \d+ SHA256:([0-9a-f]{64})$/m.exec(printed);
  if (line?.[1] === undefined || line[2] === undefined)
    throw new InstallerError(`apt-get knows no SHA-256 of ${name}: run apt-get update`);
  return { file: line[1], sha256: line[2] };
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

function run(program: string, args: readonly string[], cwd: string): Promise<string> {
  const env = { ...process.env, LC_ALL: 'C' };
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd, env, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      reject(new InstallerError(explain(program, args, error, stderr)));
    });
  });
}

function explain(program: string, args: readonly string[], error: Error, stderr: string): string {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT')
    return `there is no ${program}: the installer is built on Debian, or on a system with Debian’s ${program}`;
  const reason = /^E: (.*)$/m.exec(stderr)?.[1] ?? stderr.trim().split('\n').at(-1) ?? error.message;
  const hint = /Unable to locate|No packages found/.test(reason) ? '; apt-get update may help' : '';
  return `${program} ${args.join(' ')}: ${reason}${hint}`;
}
