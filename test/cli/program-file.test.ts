/** The command line as it is installed: one file, and what V8 compiled of it. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';

const PROGRAM = fileURLToPath(new URL('../../bin/ingot', import.meta.url));
const require = createRequire(import.meta.url);

beforeAll(() => {
  // Makes the file where nothing has built it yet.
  expect(spawnSync(process.execPath, [PROGRAM, 'version']).status).toBe(0);
}, 120_000);

it('runs from the compiled code that the build made', () => {
  const { CACHE_FILE, loadClient } = require('../../bin/load-client.cjs') as {
    CACHE_FILE: string;
    loadClient: () => { script: { cachedDataRejected?: boolean } };
  };
  expect(existsSync(CACHE_FILE)).toBe(true);
  expect(loadClient().script.cachedDataRejected).toBe(false);
});

it('knows the commands that are not part of the file, and says which command is meant', () => {
  const run = (...args: readonly string[]) =>
    spawnSync(process.execPath, [PROGRAM, ...args], { encoding: 'utf8' });
  expect(run('serve', '--help').stdout).toContain('--grpc-addr');
  const unknown = run('lst');
  expect(unknown.status).toBe(64);
  expect(unknown.stderr).toContain('Did you mean list?');
});
