/** The command line as a process of its own, for tests that need a real terminal or a real pipe. */
import { runClient } from '../../src/cli/command-line.ts';

const { argv, env, stdin, stdout, stderr } = process;
process.exitCode = await runClient({ program: 'ingot', argv: argv.slice(2), env, stdin, stdout, stderr });
