import { spawn } from 'node:child_process';
import { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { UsageError } from '../../errors/usage-error.ts';
import { addExamples } from '../../input/options.ts';

export function sshMachine(context: CommandContext): Command {
  const command = new Command('ssh')
    .description('Open an SSH session on a machine, with the ssh of this computer')
    .argument('<machine-id>')
    .argument('[command...]', 'run this instead of a shell; its exit code is that of ssh')
    .option('--user <name>', 'sign in as this user');
  addExamples(command, context.program, ['ssh machine-1', 'ssh --user root machine-1 df -h']);
  return command.action(async (machineId: string, words: readonly string[]) => {
    await context.action<{ user?: string }>(async ({ options, api }) => {
      const { spec } = await api.machines.getMachine({ machineId });
      const endpoint = spec?.sshEndpoint ?? '';
      if (endpoint === '')
        throw new UsageError(
          `${machineId} has no SSH endpoint: ${context.program} update ${machineId} --ssh-endpoint host:port`,
        );
      return ssh([...sshArguments(endpoint, options.user), ...words]);
    })(command);
  });
}

/** "host", "host:port" or "[v6]:port". An endpoint that begins with "-" would be an option of ssh. */
function sshArguments(endpoint: string, user: string | undefined): string[] {
  const [, v6, host, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(endpoint) ?? [];
  const name = v6 ?? host ?? endpoint;
  return [
    ...(port === undefined ? [] : ['-p', port]),
    ...(user === undefined ? [] : ['-l', user]),
    '--',
    name,
  ];
}

function ssh(args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn('ssh', args, { stdio: 'inherit' });
    child.on('error', (error) => reject(new UsageError(`ssh can't be started: ${error.message}`)));
    child.on('close', (code) => resolve(code ?? 1));
  });
}
