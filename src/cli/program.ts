/** The command line with the streams and the environment of its process. The build makes one file of it. */
import { runClient } from './command-line.ts';
import type { ExtraCommand, ExtraCommands } from './command-tree.ts';

const EXTRA_COMMANDS = ['serve', 'agent', 'installer', 'netboot', 'tls'] as const;

export interface Invocation {
  readonly program: string;
  readonly argv: readonly string[];
  /** The commands that are not clients of the server. Loaded when one of them is typed. */
  readonly loadExtra: () => Promise<
    Readonly<Record<(typeof EXTRA_COMMANDS)[number], (program: string) => ExtraCommand>>
  >;
}

export async function runProgram({ program, argv, loadExtra }: Invocation): Promise<void> {
  process.exitCode = await runClient({
    program,
    argv,
    env: process.env,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    extraCommands: extraCommands(program, loadExtra),
  });
}

export function extraCommands(program: string, loadExtra: Invocation['loadExtra']): ExtraCommands {
  return Object.fromEntries(
    EXTRA_COMMANDS.map((name) => [name, async () => (await loadExtra())[name](program)]),
  );
}
