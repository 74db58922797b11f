// `npm run demo:pxe`: a real machine in QEMU, installed over the network, reported as it happens. It is the test of
// test/netboot/story.test.ts with its output shown.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ensureInstalled } from './ensure-installed.mjs';

ensureInstalled('development');
const root = fileURLToPath(new URL('..', import.meta.url));
const vitest = spawn(
  'node_modules/.bin/vitest',
  ['run', 'test/netboot/story.test.ts', '--disable-console-intercept'],
  { cwd: root, stdio: 'inherit', env: { ...process.env, INGOT_TELL: '1' } },
);
vitest.once('close', (code) => {
  process.exitCode = code ?? 1;
});
