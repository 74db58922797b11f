/** The folder of downloads, kept between builds: the user's cache folder or, without a home, a temporary folder. */
import { accessSync, constants, mkdirSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';

export function downloadCacheDir(): string {
  const uid = process.getuid?.() ?? 'user';
  const home = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const own = join(uid === 0 ? '/var/cache/ingot' : join(home, 'ingot'), 'packages');
  try {
    mkdirSync(own, { recursive: true });
    accessSync(own, constants.W_OK);
    return own;
  } catch {
    return join(tmpdir(), `ingot-cache-${uid}`, 'packages');
  }
}
