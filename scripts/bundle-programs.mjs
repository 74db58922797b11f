// Makes the command line and the server one file each, dist/src/ingot.cjs and dist/src/server.cjs, with what V8 compiled of it
// beside it: a program starts without searching for and compiling hundreds of modules.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import program from '../bin/load-program.cjs';

const { CLIENT_FILE, SERVER_FILE, cacheFile, load } = program;
const here = fileURLToPath(import.meta.url);
const DIST = dirname(CLIENT_FILE);

const ADDRESS_OF =
  "const addressOf = (path) => require('node:url').pathToFileURL(require('node:path').join(__dirname, path)).href;";

const PROGRAMS = {
  client: {
    file: CLIENT_FILE,
    input: 'cli/program.js',
    minify: true,
    plugins: [{ name: 'import-late', transform: importLate }],
    // A megabyte that few commands need.
    external: ['jq-wasm'],
    warmUp: (client) =>
      client.runProgram({
        program: 'ingot',
        argv: ['list', '--server', '127.0.0.1:1'],
        loadExtra: async () => ({}),
      }),
  },
  server: {
    file: SERVER_FILE,
    input: 'program-commands.js',
    // Stack traces name functions as the sources do.
    minify: false,
    plugins: [{ name: 'keep-addresses', transform: keepAddresses }],
    banner: ADDRESS_OF,
    external: [
      // They read files beside their own, or load native code.
      /^@grpc\//,
      'grpc-health-check',
      'pino',
      'ssh2',
      // Large, and loaded by fleets with clusters only.
      '@kubernetes/client-node',
    ],
    warmUp: (server) => server.loadServerModules(),
  },
};

async function bundle({ file, input, minify, plugins, external, banner }) {
  const { build } = await import('rolldown');
  for (const name of readdirSync(DIST)) if (name.startsWith(basename(file))) rmSync(join(DIST, name));
  await build({
    input: join(DIST, input),
    platform: 'node',
    tsconfig: false,
    logLevel: 'warn',
    plugins,
    external,
    output: { file, format: 'cjs', minify, banner, codeSplitting: false, dynamicImportInCjs: false },
  });
  // One byte a character is read and compiled faster than two.
  const ascii = readFileSync(file, 'utf8').replace(/[^\0-\x7f]/g, escaped);
  writeFileSync(file, ascii);
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

/** A module that reads files beside its own finds them there, wherever the bundle is. */
function keepAddresses(code, id) {
  if (!code.includes('import.meta.url')) return null;
  if (!id.startsWith(`${DIST}/`)) throw new Error(`${id} asks for its address, which a bundle does not have`);
  return code.replaceAll('import.meta.url', `addressOf(${JSON.stringify(relative(DIST, id))})`);
}

function escaped(character) {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** The functions that the first use runs are compiled then, and are in the cache. */
async function compile({ file, warmUp }) {
  process.env.INGOT_TOKEN = 'none';
  process.stderr.write = () => true;
  // Otherwise a garbage collection may drop what ran only once. Back to the default before the end: V8 compares its flags.
  setFlagsFromString('--no-flush-bytecode');
  const { script, exports } = load(file);
  await warmUp(exports);
  setFlagsFromString('--flush-bytecode');
  writeFileSync(cacheFile(file), script.createCachedData());
  process.exit(0);
}

const toCompile = PROGRAMS[process.argv[2] ?? ''];
if (toCompile !== undefined) await compile(toCompile);
else
  for (const [name, options] of Object.entries(PROGRAMS)) {
    await bundle(options);
    // In a process of its own, whose output is of no interest: no server is there.
    const { status } = spawnSync(process.execPath, [here, name], { stdio: ['ignore', 'ignore', 2] });
    if (status !== 0) process.exit(1);
  }
