/** The entry of the command line: `serve` runs the server, most other commands are its clients. */
import { type Invocation, runProgram } from './cli/program.ts';

export function runCommandLine(invocation: Pick<Invocation, 'program' | 'argv'>): Promise<void> {
  return runProgram({ ...invocation, loadExtra });
}

export const loadExtra: Invocation['loadExtra'] = async () =>
  (await import('./program-commands.ts')).PROGRAM_COMMANDS;
