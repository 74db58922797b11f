// Compiles src, test and bench to dist, builds the console, and lays SQL migrations and scripts beside the code that reads them.
import { spawnSync } from 'node:child_process';
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
run('node_modules/typescript/bin/tsc', '-p', '.');
run('node_modules/typescript/bin/tsc', '-p', 'console');
run('scripts/build-console.mjs');
rmSync(`${root}/dist/src/store/migrations`, { recursive: true, force: true });
cpSync(`${root}/src/store/migrations`, `${root}/dist/src/store/migrations`, { recursive: true });
for (const file of ['src/installer/init.sh', 'src/installer/udhcpc-event.sh', 'test/parts/phone-home.sh'])
  cpSync(`${root}/${file}`, `${root}/dist/${file}`);
// Says that the whole build went well; scripts/ensure-built.mjs compares its age with the sources'.
writeFileSync(`${root}/dist/.built`, '');

function run(...command) {
  const { status } = spawnSync(process.execPath, command, { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
