/**
 * The options of apt for an architecture. Packages of the host's architecture come from its own lists. Those of another come
 * from lists beside the downloads: the configuration of the host's apt is not changed. Sources, keys and proxies are the
 * host's in both cases.
 */
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Architecture } from './architecture.ts';
import { runProgram } from './run-program.ts';

/** Younger lists are not fetched again. */
const FRESH_MS = 6 * 3_600_000;

let host: Promise<string> | null = null;

function hostArchitecture(): Promise<string> {
  host ??= runProgram('dpkg', ['--print-architecture'], '/').then((printed) => printed.trim());
  return host;
}

/** The options for apt-get and apt-cache. Fetches the lists if needed. */
export async function aptOptions(architecture: Architecture, cacheDir: string): Promise<string[]> {
  if ((await hostArchitecture()) === architecture) return [];
  const root = join(cacheDir, `apt-${architecture}`);
  const settings = {
    'APT::Architecture': architecture,
    'APT::Architectures': architecture,
    'APT::Sandbox::User': 'root',
    'Dir::State': join(root, 'state'),
    'Dir::State::status': '/dev/null',
    'Dir::Cache': join(root, 'cache'),
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  if (!(await isFresh(join(root, 'updated')))) {
    await mkdir(join(root, 'state', 'lists', 'partial'), { recursive: true });
    await mkdir(join(root, 'cache', 'archives', 'partial'), { recursive: true });
    await runProgram('apt-get', [...options, '-q', 'update'], '/');
    await writeFile(join(root, 'updated'), '');
  }
  return options;
}

async function isFresh(file: string): Promise<boolean> {
  const found = await stat(file).catch(() => null);
  return found !== null && Date.now() - found.mtimeMs < FRESH_MS;
}
