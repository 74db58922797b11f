/** The agent as a separate program: one file for a machine that has only Node.js. */
import { Command, CommanderError } from 'commander';
import { type AgentCommand, agentCommand } from './agent-command.ts';

/** Defined by scripts/bundle-agent.mjs. */
declare const INGOT_VERSION: string;

const PROGRAM = 'ingot-agent';

function toCommander({ name, description, options, helpAfter, run, subcommands }: AgentCommand): Command {
  const command = new Command(name).description(description).addHelpText('after', helpAfter).exitOverride();
  for (const option of options) command.option(option.flags, option.description);
  for (const sub of subcommands) command.addCommand(toCommander(sub));
  return command.action(async () => {
    process.exitCode = await run(command.optsWithGlobals());
  });
}

async function runStandalone(): Promise<void> {
  // A restart of the journal closes our output for a moment. The agent continues.
  process.stderr.on('error', () => {});
  const [, script = ''] = process.argv;
  const agent = agentCommand({
    program: PROGRAM,
    version: INGOT_VERSION,
    command: [process.execPath, script],
    env: process.env,
    cwd: process.cwd(),
    writeOut: (text) => process.stdout.write(text),
    writeErr: (text) => process.stderr.write(text),
    signals: process,
  });
  const root = toCommander({ ...agent, name: PROGRAM });
  root.version(INGOT_VERSION).helpCommand(false);
  try {
    await root.parseAsync();
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    process.exitCode = error.exitCode === 0 ? 0 : 64;
  }
}

await runStandalone();
