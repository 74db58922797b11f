// Loads the command line and the server, each one file of dist/src with what V8 compiled of it when it was built
// (scripts/bundle-programs.mjs).
const { existsSync, readFileSync } = require('node:fs');
const { createRequire, wrap } = require('node:module');
const { dirname, join } = require('node:path');
const { setFlagsFromString } = require('node:v8');
const { Script } = require('node:vm');

const CLIENT_FILE = join(__dirname, '../dist/src/ingot.cjs');
/** The commands that are no clients: the server and its workers, the agent, the installer, the network boot, certificates. */
const SERVER_FILE = join(__dirname, '../dist/src/server.cjs');

/** Another version of Node.js can't use it, and compiles the program itself. */
const cacheFile = (programFile) => `${programFile}.${process.version}-${process.arch}.cache`;

/**
 * The memory for new objects is settled when the process starts, so the flag for it has done its work. V8 takes compiled code only under the
 * flags of the build.
 */
function forgetHeapFlag() {
  const given = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].join(' ');
  if (/--max[-_]semi[-_]space[-_]size/.test(given)) setFlagsFromString('--max-semi-space-size=0');
}

function load(programFile) {
  forgetHeapFlag();
  const cache = cacheFile(programFile);
  const script = new Script(wrap(readFileSync(programFile, 'latin1')), {
    filename: programFile,
    cachedData: existsSync(cache) ? readFileSync(cache) : undefined,
  });
  const program = { exports: {} };
  const run = script.runInThisContext();
  run.call(
    program.exports,
    program.exports,
    createRequire(programFile),
    program,
    programFile,
    dirname(programFile),
  );
  return { script, exports: program.exports };
}

/** With INGOT_MODULES=1 from single modules, so that profiles and stack traces name the files of the sources. */
async function loadServer() {
  const server =
    process.env.INGOT_MODULES === '1' || !existsSync(SERVER_FILE)
      ? await import('../dist/src/program-commands.js')
      : load(SERVER_FILE).exports;
  keepHeapSmall();
  return server;
}

/**
 * What calls keep while they wait for the database often becomes old before it becomes garbage. By itself V8 lets old objects grow to several times
 * what is in use before it collects them (docs/decisions/0082-memory-for-new-objects.md). Set when the compiled code is loaded: it has this flag no more
 * than the other one.
 */
function keepHeapSmall() {
  setFlagsFromString('--heap-growing-percent=60');
}

/** Compiled code can't import a module itself, so the client is passed how to load the rest. */
const loadExtra = async () => (await loadServer()).PROGRAM_COMMANDS;

async function run(program, argv = process.argv.slice(2)) {
  if (!existsSync(CLIENT_FILE)) (await import('../scripts/ensure-built.mjs')).ensureBuilt();
  await load(CLIENT_FILE).exports.runProgram({ program, argv, loadExtra });
}

module.exports = { CLIENT_FILE, SERVER_FILE, cacheFile, load, loadServer, run };
