// Loads the command line, dist/src/ingot.cjs, with what V8 compiled of it when it was built (scripts/bundle-cli.mjs).
const { existsSync, readFileSync } = require('node:fs');
const { createRequire, wrap } = require('node:module');
const { dirname, join } = require('node:path');
const { Script } = require('node:vm');

const PROGRAM_FILE = join(__dirname, '../dist/src/ingot.cjs');
// Another version of Node.js can't use it, and compiles the program itself.
const CACHE_FILE = `${PROGRAM_FILE}.${process.version}-${process.arch}.cache`;

function loadClient() {
  const script = new Script(wrap(readFileSync(PROGRAM_FILE, 'latin1')), {
    filename: PROGRAM_FILE,
    cachedData: existsSync(CACHE_FILE) ? readFileSync(CACHE_FILE) : undefined,
  });
  const client = { exports: {} };
  const run = script.runInThisContext();
  run.call(
    client.exports,
    client.exports,
    createRequire(PROGRAM_FILE),
    client,
    PROGRAM_FILE,
    dirname(PROGRAM_FILE),
  );
  return { script, runProgram: client.exports.runProgram };
}

/** A module of the server is not part of the file: compiled code can't import one itself. */
const loadExtra = async () => (await import('../dist/src/program-commands.js')).PROGRAM_COMMANDS;

async function run(program) {
  if (!existsSync(PROGRAM_FILE)) (await import('../scripts/ensure-built.mjs')).ensureBuilt();
  await loadClient().runProgram({ program, argv: process.argv.slice(2), loadExtra });
}

module.exports = { CACHE_FILE, PROGRAM_FILE, loadClient, run };
