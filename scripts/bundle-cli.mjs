// Makes the command line one file, dist/src/ingot.cjs, with what V8 compiled of it beside it: a command starts without searching for
// and compiling hundreds of modules. Commands that are not clients, such as `serve`, stay modules of their own.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import client from '../bin/load-client.cjs';

const { CACHE_FILE, PROGRAM_FILE, loadClient } = client;
const here = fileURLToPath(import.meta.url);

async function bundle() {
  const { build } = await import('rolldown');
  for (const name of readdirSync(dirname(PROGRAM_FILE)))
    if (name.startsWith(basename(PROGRAM_FILE))) rmSync(join(dirname(PROGRAM_FILE), name));
  await build({
    input: join(dirname(PROGRAM_FILE), 'cli/program.js'),
    platform: 'node',
    tsconfig: false,
    logLevel: 'warn',
    plugins: [{ name: 'import-late', transform: importLate }],
    // A megabyte that few commands need.
    external: 'jq-wasm',
    output: {
      file: PROGRAM_FILE,
      format: 'cjs',
      minify: true,
      codeSplitting: false,
      dynamicImportInCjs: false,
    },
  });
  // One byte a character is read and compiled faster than two.
  const ascii = readFileSync(PROGRAM_FILE, 'utf8').replace(/[^\0-\x7f]/g, escaped);
  writeFileSync(PROGRAM_FILE, ascii);
  // In a process of its own, whose output is of no interest: no server is there.
  const { status } = spawnSync(process.execPath, [here, '--compile'], { stdio: ['ignore', 'ignore', 2] });
  if (status !== 0) process.exit(1);
}

/** Functions of modules that take long to load and that few commands call: they are loaded with the first call. */
const LATE = [
  {
    file: 'cli/output/plain-text.js',
    line: "import stringWidth from 'string-width';",
    name: 'stringWidth',
    from: 'string-width',
    as: 'default',
  },
  {
    file: 'cli/output/format.js',
    line: "import { yamlText } from './yaml-text.js';",
    name: 'yamlText',
    from: './yaml-text.js',
    as: 'yamlText',
  },
];

function importLate(code, id) {
  const late = LATE.find(({ file }) => id.endsWith(`/${file}`));
  if (late === undefined) return null;
  if (!code.includes(late.line)) throw new Error(`${late.file} no longer has: ${late.line}`);
  return code.replace(
    late.line,
    `const ${late.name} = (value) => require('${late.from}').${late.as}(value);`,
  );
}

function escaped(character) {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** The functions that a call to the server runs are compiled then, and are in the cache. */
async function compile() {
  process.env.INGOT_TOKEN = 'none';
  process.stderr.write = () => true;
  // Otherwise a garbage collection may drop what ran only once. Back to the default before the end: V8 compares its flags.
  setFlagsFromString('--no-flush-bytecode');
  const { script, runProgram } = loadClient();
  await runProgram({
    program: 'ingot',
    argv: ['list', '--server', '127.0.0.1:1'],
    loadExtra: async () => ({}),
  });
  setFlagsFromString('--flush-bytecode');
  writeFileSync(CACHE_FILE, script.createCachedData());
  process.exitCode = 0;
}

if (process.argv[2] === '--compile') await compile();
else await bundle();
