// Installs the dependencies when they are missing or are not the ones that package-lock.json names.
// Run by hand or by `npm test`, and imported by the scripts that start from a fresh clone.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const oldestNode = [20, 19];

/**
 * `extent` is what must be there: 'runtime' is content with an install that left out the development
 * dependencies, 'development' is not.
 */
export function ensureInstalled(extent = 'development') {
  requireNode();
  if (isInstalled(extent)) return;
  console.error('ingot: installing dependencies (npm ci)');
  // npm's own output goes to stderr, as stdout may be read by a program.
  const args = ['ci', '--include=dev', '--include=optional'];
  const npm = process.env.npm_execpath;
  const stdio = ['ignore', 2, 2];
  const run = npm?.endsWith('.js')
    ? spawnSync(process.execPath, [npm, ...args], { cwd: root, stdio })
    : spawnSync('npm', args, { cwd: root, stdio });
  if (run.error) fail(`dependencies are not installed and npm could not be run: ${run.error.message}`);
  if (run.status !== 0) fail(`npm ci failed (${run.signal ?? `exit code ${run.status}`}), see above`);
}

export function fail(message) {
  console.error(`ingot: ${message}`);
  process.exit(1);
}

function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1])) return;
  fail(`Node.js ${oldestNode.join('.')} or later is needed, this is ${process.versions.node}`);
}

/**
 * By content rather than by date: a checkout that touches package-lock.json without changing it must not
 * cost an install, and a restored node_modules with a fresh date must not pass for a current one.
 */
function isInstalled(extent) {
  const wanted = packagesIn('package-lock.json');
  // An installed package of Ingot has no lock file: its installation took care of its dependencies.
  if (wanted === undefined) return true;
  const present = packagesIn('node_modules/.package-lock.json');
  if (present === undefined) return false;
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true;
    const found = present[path];
    if (found === undefined)
      return entry.optional || entry.devOptional || (entry.dev && extent === 'runtime');
    return found.version === entry.version && found.integrity === entry.integrity;
  });
}

function packagesIn(file) {
  return existsSync(`${root}/${file}`)
    ? JSON.parse(readFileSync(`${root}/${file}`, 'utf8')).packages
    : undefined;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) ensureInstalled();
