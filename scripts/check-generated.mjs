// Fails when src/gen is not what buf generates from proto/ today, and says which files differ.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

function generateInto(directory) {
  // The same template as ever, its outputs below another directory.
  const buf = spawnSync(`${root}/node_modules/.bin/buf`, ['generate', '--output', directory], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, PATH: `${root}/node_modules/.bin:${process.env.PATH}` },
  });
  if (buf.status !== 0) throw new Error('buf generate failed, see above');
}

function filesBelow(directory) {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => statSync(join(directory, name)).isFile());
  return new Map(files.map((name) => [name, readFileSync(join(directory, name), 'utf8')]));
}

function differences(committed, generated) {
  const names = [...new Set([...committed.keys(), ...generated.keys()])].sort();
  return names.flatMap((name) => {
    if (!committed.has(name)) return [`missing:    src/gen/${name}`];
    if (!generated.has(name)) return [`left over:  src/gen/${name}`];
    return committed.get(name) === generated.get(name) ? [] : [`differs:    src/gen/${name}`];
  });
}

const scratch = mkdtempSync(join(tmpdir(), 'ingot-generated-'));
try {
  generateInto(scratch);
  const found = differences(filesBelow(join(root, 'src/gen')), filesBelow(join(scratch, 'src/gen')));
  for (const line of found) console.error(line);
  if (found.length > 0) {
    console.error('src/gen is not up to date with proto/: run npm run generate');
    process.exitCode = 1;
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
