/** Builds of Ingot to measure: this one, and any other commit in a git worktree of its own. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../../src/package-root.ts';
import type { Cleanup } from './cleanup.ts';

export interface Build {
  /** As it is printed. */
  readonly name: string;
  /** Has bin/ingot and dist/. */
  readonly root: string;
}

export function thisBuild(): Build {
  return { name: 'this build', root: packageRoot() };
}

/** The commit's own build script makes it; its layout does not matter. */
export async function buildCommit(ref: string, cleanup: Cleanup): Promise<Build> {
  const repository = packageRoot();
  const commit = git(repository, 'rev-parse', '--verify', `${ref}^{commit}`);
  const dir = mkdtempSync(join(tmpdir(), 'ingot-against-'));
  const root = join(dir, 'ingot');
  cleanup.add(() => {
    rmSync(dir, { recursive: true, force: true });
    git(repository, 'worktree', 'prune');
  });
  git(repository, 'worktree', 'add', '--detach', root, commit);
  const started: Running[] = [];
  cleanup.add(() => endAll(started));
  if (hasPackagesOf(repository, root))
    symlinkSync(join(repository, 'node_modules'), join(root, 'node_modules'));
  else await run(started, root, 'npm', ['ci', '--include=dev', '--include=optional']);
  // Commits that do not know the flag build the console too.
  await run(started, root, process.execPath, ['scripts/build.mjs', '--server']);
  return { name: git(repository, 'rev-parse', '--short', commit), root };
}

function git(cwd: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr.trim()}`);
  return stdout.trim();
}

interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly optional?: boolean;
  readonly devOptional?: boolean;
}

/** Whether all packages that the commit's lock file names are installed here, in the same versions. More do not matter. */
function hasPackagesOf(repository: string, root: string): boolean {
  const installed = packagesIn(join(repository, 'node_modules/.package-lock.json'));
  return installsAll(packagesIn(join(root, 'package-lock.json')), installed);
}

export function installsAll(
  wanted: Readonly<Record<string, LockedPackage>>,
  installed: Readonly<Record<string, LockedPackage>>,
): boolean {
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true;
    const found = installed[path];
    if (found === undefined) return entry.optional === true || entry.devOptional === true;
    return found.version === entry.version && found.integrity === entry.integrity;
  });
}

function packagesIn(file: string): Readonly<Record<string, LockedPackage>> {
  if (!existsSync(file)) return {};
  return (JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, LockedPackage> }).packages;
}

interface Running {
  readonly pid: number;
  readonly ended: Promise<unknown>;
}

/** In a process group of its own: a build has children, and all of them end with it. */
function run(started: Running[], cwd: string, program: string, args: readonly string[]): Promise<void> {
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'], detached: true });
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      code === 0
        ? resolve()
        : reject(new Error(`${program} ${args.join(' ')}: ${signal ?? `exit code ${code}`}`)),
    );
  });
  const entry = { pid: child.pid ?? 0, ended: ended.catch(() => 'the caller has the error') };
  started.push(entry);
  return ended.finally(() => started.splice(started.indexOf(entry), 1));
}

async function endAll(started: readonly Running[]): Promise<void> {
  for (const { pid, ended } of [...started]) {
    if (pid > 0) process.kill(-pid, 'SIGTERM');
    await ended;
  }
}
