import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder that holds this program's package.json, whether it runs from src or from dist. */
export function packageRoot(): string {
  const start = dirname(fileURLToPath(import.meta.url));
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder;
    if (dirname(folder) === folder) return start;
  }
}

export function packageVersion(): string {
  const file = join(packageRoot(), 'package.json');
  if (!existsSync(file)) return 'unknown';
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version?: string };
  return version ?? 'unknown';
}
