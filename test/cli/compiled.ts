import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

const LAUNCHER = `
import { runClient } from './dist/src/cli/command-line.js';
const { argv, env, stdin, stdout, stderr } = process;
process.exitCode = await runClient({ program: 'ingot', argv: argv.slice(2), env, stdin, stdout, stderr });
`;

/** Compiles the command line into a separate folder: the file that node runs, and a function that removes it. */
export function compileProgram() {
  const folder = mkdtempSync(join(tmpdir(), 'ingot-program-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'ingot', version: '0.0.0', type: 'module' }),
  );
  const project = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      outDir: join(folder, 'dist'),
      rootDir: root,
      incremental: false,
      tsBuildInfoFile: null,
      // Types are another check's work; here a running program is all that counts.
      noCheck: true,
      typeRoots: [join(root, 'node_modules', '@types')],
    },
    include: [],
    files: [join(root, 'src', 'cli', 'command-line.ts')],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project));
  execFileSync(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', folder]);
  const program = join(folder, 'program.js');
  writeFileSync(program, LAUNCHER);
  return { program, remove: () => rmSync(folder, { recursive: true }) };
}
