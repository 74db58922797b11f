// Compiles src, test and bench to dist, builds the console, and lays SQL migrations and scripts beside the code that reads them.
// With --server: without the console. With --modules: without the programs of one file too. For tests that need neither.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const hasPrograms = !process.argv.includes('--modules');
const hasConsole = hasPrograms && !process.argv.includes('--server');
run('node_modules/typescript/bin/tsc', '-p', '.');
if (hasPrograms) run('scripts/bundle-programs.mjs');
if (hasConsole) {
  run('node_modules/typescript/bin/tsc', '-p', 'console');
  run('scripts/build-console.mjs');
}
rmSync(`${root}/dist/src/store/migrations`, { recursive: true, force: true });
cpSync(`${root}/src/store/migrations`, `${root}/dist/src/store/migrations`, { recursive: true });
for (const folder of ['src/installer/scripts', 'test/parts']) {
  const scripts = (at) => (existsSync(at) ? readdirSync(at).filter((name) => name.endsWith('.sh')) : []);
  // A script that is gone from the source must not stay: the installer takes all that it finds.
  for (const name of scripts(`${root}/dist/${folder}`)) rmSync(`${root}/dist/${folder}/${name}`);
  for (const name of scripts(`${root}/${folder}`))
    cpSync(`${root}/${folder}/${name}`, `${root}/dist/${folder}/${name}`);
}
// Says that the whole build went well; scripts/ensure-built.mjs compares its age with the sources'.
if (hasConsole) writeFileSync(`${root}/dist/.built`, '');

function run(...command) {
  // The compiler, a program in Go, otherwise collects garbage for a third of its time.
  const env = { ...process.env, GOGC: process.env.GOGC ?? '400' };
  const { status } = spawnSync(process.execPath, command, { cwd: root, stdio: 'inherit', env });
  if (status !== 0) process.exit(status ?? 1);
}
