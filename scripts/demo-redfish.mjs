// `npm run demo:redfish`: a real machine in QEMU behind a simulated BMC with Redfish, installed by UEFI HTTP boot and from a disc, and erased,
// reported as it happens. It is the test of test/netboot/redfish-boot.test.ts with its output shown.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ensureInstalled } from './ensure-installed.mjs';

ensureInstalled('development');
const root = fileURLToPath(new URL('..', import.meta.url));
const vitest = spawn(
  'node_modules/.bin/vitest',
  ['run', 'test/netboot/redfish-boot.test.ts', '--disable-console-intercept'],
  { cwd: root, stdio: 'inherit', env: { ...process.env, INGOT_TELL: '1', INGOT_LONG_TESTS: '1' } },
);
vitest.once('close', (code) => {
  process.exitCode = code ?? 1;
});
