// Builds dist when it is missing or older than what it is made from.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ensureInstalled, fail } from './ensure-installed.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const stamp = `${root}/dist/.built`;

/** Leaves everything in place that running dist needs: its dependencies and itself. */
export function ensureBuilt() {
  if (isCurrent()) return ensureInstalled('runtime');
  ensureInstalled('development');
  console.error('ingot: building');
  const startedAt = new Date();
  const build = spawnSync(process.execPath, ['scripts/build.mjs'], { cwd: root, stdio: ['ignore', 2, 2] });
  if (build.status !== 0) fail('the build failed, see above');
  // The compiler leaves unchanged outputs alone, so their dates say nothing about when it last ran. Dated from
  // the beginning, so that a source which was edited meanwhile counts as newer.
  writeFileSync(stamp, '');
  utimesSync(stamp, startedAt, startedAt);
}

function isCurrent() {
  const built = ['src/ingot.cjs', 'src/server.cjs', 'console/index.html'];
  if (!built.every((file) => existsSync(`${root}/dist/${file}`))) return false;
  const sources = ['src', 'proto', 'console', 'tsconfig.json']
    .map((name) => `${root}/${name}`)
    .filter(existsSync);
  // An installed package of Ingot comes built and without its sources.
  if (!sources.includes(`${root}/tsconfig.json`)) return true;
  return existsSync(stamp) && sources.every((path) => newest(path) <= statSync(stamp).mtimeMs);
}

function newest(path) {
  const entry = statSync(path);
  if (!entry.isDirectory()) return entry.mtimeMs;
  // A directory's own date changes when a file in it is removed, which no remaining file would show.
  return readdirSync(path).reduce(
    (latest, name) => Math.max(latest, newest(`${path}/${name}`)),
    entry.mtimeMs,
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) ensureBuilt();
