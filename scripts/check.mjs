// `npm test`: every check, and of the tests those that prove each promise once. Arguments go to vitest, and then every test
// that they name runs.
// `npm run test:all` (--all): the tests with the tag `extended` too, as in CI.
// `npm run test:fast` (--fast): types, lint, unit tests, and the tests through the API of one server.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureInstalled } from './ensure-installed.mjs';

// Here and not in a pretest script: with install scripts off, npm leaves those out too.
ensureInstalled('development');

const root = fileURLToPath(new URL('..', import.meta.url));
const bin = (name) => `node_modules/.bin/${name}`;
const script = (path) => relative(root, fileURLToPath(import.meta.resolve(path)));
const FLAGS = ['--all', '--fast'];
const isAll = process.argv.includes('--all');
const isFast = process.argv.includes('--fast');
const filters = process.argv.slice(2).filter((argument) => !FLAGS.includes(argument));
// A caller who names tests gets all of them.
const leavesExtended = isFast || (!isAll && filters.length === 0);

const build = isFast
  ? { title: 'types', command: [process.execPath, script('./build.mjs'), '--modules'] }
  : { title: 'build and types', command: [process.execPath, script('./build.mjs')] };
const lint = { title: 'format and lint', command: [bin('biome'), 'check', '.', '--error-on-warnings'] };
const fastChecks = [
  build,
  {
    title: 'types of the console',
    command: [process.execPath, 'node_modules/typescript/bin/tsc', '-p', 'console'],
  },
  lint,
];
const allChecks = [
  build,
  lint,
  { title: 'dead code and dependencies', command: [bin('knip')] },
  { title: 'API lint', command: [bin('buf'), 'lint'] },
  { title: 'API compatibility', command: [bin('buf'), 'breaking', '--against', 'proto/released.binpb'] },
  { title: 'generated code', command: [process.execPath, script('./check-generated.mjs')] },
];

/**
 * Unit tests, but for those that start a PostgreSQL or other processes, migrate many databases or run the installer's scripts,
 * the crash proofs of each step kind, and tests through the API that start one server, but for the costliest.
 */
const SEVERAL_SERVERS =
  'database-away,discovery,idempotency,logs,maintenance,migrating,operator-actions,replicas,sessions,watching,watching-resumed,who-may-call';
const COSTLIEST = 'approvals,cancellation,spec-under-operation,unstorable-text';
const PROOFS = 'src/steps/step-proofs.test.ts';
const FAST_TESTS = [...['--project', 'ingot', 'src/', 'test/api/']];
/** For vitest.config.ts: the projects there have an `exclude` of their own, which `--exclude` does not change. */
const LEFT_OUT = `src/{store/embedded,store/schema,server/workers,installer}/** ${PROOFS} test/api/{${SEVERAL_SERVERS},${COSTLIEST}}.test.ts`;

// What the tests need of Debian is installed before them, so that vitest itself has nothing to say about it.
const paths = filters.filter((argument) => argument.includes('/'));
const packages = {
  title: 'programs for the tests',
  command: [process.execPath, 'dist/scripts/install-test-packages.js', ...paths],
};
const tests = {
  title: 'tests',
  command: [
    ...[bin('vitest'), 'run'],
    ...(leavesExtended ? ['--tags-filter=!extended'] : []),
    ...(isFast ? FAST_TESTS : []),
    ...filters,
  ],
  env: {
    INGOT_TEST_COMPILED: '1',
    INGOT_TEST_PACKAGES: isFast ? '' : 'checked',
    ...(leavesExtended && { INGOT_TEST_POSTGRES: 'few', INGOT_TEST_EXTENDED: 'left' }),
    ...(isFast && { INGOT_TEST_INSTALL: '0', INGOT_TEST_EXCLUDE: LEFT_OUT }),
  },
};

function start({ command: [file, ...args], env }, stdio) {
  const child = spawn(file, args, { cwd: root, stdio, env: { ...process.env, ...env } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (output += text));
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: 1, output: `${error.message}\n` }));
    child.once('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

function heading({ title, command }) {
  const [file, ...args] = command;
  const shown =
    file === process.execPath ? ['node', ...args] : [file.replace('node_modules/.bin/', ''), ...args];
  console.log(`\n== ${title}: ${shown.join(' ')}`);
}

async function runInTurn(check) {
  heading(check);
  return (await start(check, 'inherit')).code;
}

/** Independent of one another: each one's output is kept back and shown in order. */
async function runTogether(checks) {
  const running = checks.map((check) => ({ check, result: start(check, ['ignore', 'pipe', 'pipe']) }));
  for (const { check, result } of running) {
    heading(check);
    const { code, output } = await result;
    process.stdout.write(output);
    if (code !== 0) return code;
  }
  return 0;
}

/** Of this process and all that have ended below it; null where /proc does not say. */
function processorSeconds() {
  try {
    const fields = readFileSync('/proc/self/stat', 'latin1').split(') ')[1].split(' ');
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
  } catch {
    return null;
  }
}

const startedAt = performance.now();
const code =
  (await runTogether(isFast ? fastChecks : allChecks)) ||
  (isFast ? 0 : await runInTurn(packages)) ||
  (await runInTurn(tests));
const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
const processor = processorSeconds();
const cost = processor === null ? '' : ` (${processor.toFixed(0)} s of processor time)`;
console.log(`\n== ${code === 0 ? 'all checks passed' : 'failed'} in ${seconds} s${cost}`);
process.exitCode = code;
