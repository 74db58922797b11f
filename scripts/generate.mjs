// Regenerates src/gen from proto/.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const buf = spawnSync(process.execPath, ['node_modules/@bufbuild/buf/bin/buf', 'generate'], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, PATH: `${root}/node_modules/.bin:${process.env.PATH}` },
});
process.exit(buf.status ?? 1);
