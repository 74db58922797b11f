// `npm test`: everything a reviewer would check, in one command. Arguments go to vitest.
import { spawn } from 'node:child_process';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureInstalled } from './ensure-installed.mjs';

// Here and not in a pretest script: with install scripts off, npm leaves those out too.
ensureInstalled('development');

const root = fileURLToPath(new URL('..', import.meta.url));
const bin = (name) => `node_modules/.bin/${name}`;
const checkGenerated = relative(root, fileURLToPath(import.meta.resolve('./check-generated.mjs')));

const build = { title: 'build and types', command: [process.execPath, 'scripts/build.mjs'] };

// Independent of one another, so they run together; each one's output is kept back and shown in order.
const staticChecks = [
  { title: 'format and lint', command: [bin('biome'), 'check', '.', '--error-on-warnings'] },
  { title: 'dead code and dependencies', command: [bin('knip')] },
  { title: 'API lint', command: [bin('buf'), 'lint'] },
  { title: 'API compatibility', command: [bin('buf'), 'breaking', '--against', 'proto/released.binpb'] },
  { title: 'generated code', command: [process.execPath, checkGenerated] },
];

const tests = { title: 'tests', command: [bin('vitest'), 'run', ...process.argv.slice(2)] };

function start({ command: [file, ...args] }, stdio) {
  const child = spawn(file, args, { cwd: root, stdio });
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

const startedAt = performance.now();
const code = (await runInTurn(build)) || (await runTogether(staticChecks)) || (await runInTurn(tests));
const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
console.log(`\n== ${code === 0 ? 'all checks passed' : 'failed'} in ${seconds} s`);
process.exitCode = code;
