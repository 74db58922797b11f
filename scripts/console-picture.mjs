// `npm run docs:console`: the README's picture of the console, taken by the tests.
import { spawnSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ensureBuilt } from './ensure-built.mjs';

ensureBuilt();
const root = fileURLToPath(new URL('..', import.meta.url));
const { status } = spawnSync(
  'node_modules/.bin/vitest',
  ['run', 'test/console/visual.test.ts', '-t', 'fleet looks'],
  {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, INGOT_SCREENSHOTS: '1' },
  },
);
if (status !== 0) process.exit(status ?? 1);
copyFileSync(`${root}/dist/screenshots/fleet-1440-light.png`, `${root}/docs/console.png`);
