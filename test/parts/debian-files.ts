/** Files of Debian's packages for a test that runs them where they are: nothing is installed on this host. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { downloadCacheDir } from '../../src/installer/cache-dir.ts';
import { downloadPackages, unpackPackage } from '../../src/installer/debian-package.ts';
import { InstallerError } from '../../src/installer/installer-error.ts';

export interface DebianFiles {
  readonly dir: string;
  /** With which its programs and its Python modules run. */
  readonly env: NodeJS.ProcessEnv;
}

/** All of them in one folder, which is kept; or why there is none. */
export async function debianFiles(title: string, names: readonly string[]): Promise<DebianFiles | string> {
  const dir = join(tmpdir(), `ingot-test-debian-${title}`);
  try {
    if (!existsSync(dir)) await unpackAll(dir, names);
  } catch (error) {
    if (error instanceof InstallerError) return `skipped: no packages for ${title}: ${error.message}`;
    throw error;
  }
  const path = ['usr/sbin', 'usr/bin', 'sbin', 'bin'].map((folder) => join(dir, folder));
  const libraries = ['usr/lib/x86_64-linux-gnu', 'lib/x86_64-linux-gnu'].map((folder) => join(dir, folder));
  return {
    dir,
    env: {
      ...process.env,
      PATH: [...path, process.env.PATH, '/usr/sbin', '/sbin'].join(':'),
      LD_LIBRARY_PATH: libraries.join(':'),
      PYTHONPATH: join(dir, 'usr/lib/python3/dist-packages'),
    },
  };
}

async function unpackAll(dir: string, names: readonly string[]): Promise<void> {
  const debs = await downloadPackages(names, { architecture: 'amd64', cacheDir: downloadCacheDir() });
  if (debs.length < names.length) throw new InstallerError('apt-get offers not all of them');
  const draft = mkdtempSync(join(tmpdir(), 'ingot-test-debian-draft-'));
  try {
    mkdirSync(join(draft, 'all'));
    for (const deb of debs) await unpackPackage(deb, join(draft, 'all'));
    if (!existsSync(dir)) renameSync(join(draft, 'all'), dir);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Fails with what the program says. */
export function runDebian(
  { env }: DebianFiles,
  program: string,
  args: readonly string[],
  input = '',
): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { env, input, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program}: ${error?.message ?? `${stdout}${stderr}`}`);
  return stdout;
}
