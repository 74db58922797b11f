/** The command line and the server as they are installed: one file each, and what V8 compiled of it. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';

const PROGRAM = fileURLToPath(new URL('../../bin/ingot', import.meta.url));

beforeAll(() => {
  // Makes the file where nothing has built it yet.
  expect(spawnSync(process.execPath, [PROGRAM, 'version']).status).toBe(0);
}, 120_000);

it.each(['CLIENT_FILE', 'SERVER_FILE'])('runs from the compiled code that the build made of %s', (file) => {
  // In a process without the flags of this one: V8 takes compiled code only under the same flags.
  const { NODE_OPTIONS: _none, ...env } = process.env;
  const loader = fileURLToPath(new URL('../../bin/load-program.cjs', import.meta.url));
  const ask = `const program = require(${JSON.stringify(loader)});
    process.stdout.write(String(program.load(program.${file}).script.cachedDataRejected))`;
  expect(spawnSync(process.execPath, ['-e', ask], { env, encoding: 'utf8' }).stdout).toBe('false');
});

/** Prints the flags of the process, and how the file of the server was loaded, in place of the command. */
function startedAs(...args: readonly string[]): string {
  const loader = new URL('../../bin/load-program.cjs', import.meta.url).href;
  const probe = `import program from ${JSON.stringify(loader)};
    process.stdout.write(JSON.stringify([process.execArgv, program.load(program.SERVER_FILE).script.cachedDataRejected]));
    process.exit(0);`;
  const options = `--import data:text/javascript,${encodeURIComponent(probe)}`;
  return spawnSync(PROGRAM, args, { env: { ...process.env, NODE_OPTIONS: options }, encoding: 'utf8' })
    .stdout;
}

it('serves with more memory for new objects, and from compiled code all the same', () => {
  expect(JSON.parse(startedAs('serve'))).toEqual([['--max-semi-space-size=32'], false]);
});

it('starts other commands without flags', () => {
  expect(JSON.parse(startedAs('list'))).toEqual([[], false]);
  expect(JSON.parse(startedAs())).toEqual([[], false]);
});

it.each(['0', '1'])('knows the commands of the server, with INGOT_MODULES=%s', (modules) => {
  const env = { ...process.env, INGOT_MODULES: modules };
  const { stdout } = spawnSync(process.execPath, [PROGRAM, 'serve', '--help'], { env, encoding: 'utf8' });
  expect(stdout).toContain('--grpc-addr');
});

it('knows the commands that are not part of the file, and says which command is meant', () => {
  const run = (...args: readonly string[]) =>
    spawnSync(process.execPath, [PROGRAM, ...args], { encoding: 'utf8' });
  expect(run('serve', '--help').stdout).toContain('--grpc-addr');
  const unknown = run('lst');
  expect(unknown.status).toBe(64);
  expect(unknown.stderr).toContain('Did you mean list?');
});
