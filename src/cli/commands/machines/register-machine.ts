import { Command } from 'commander';
import { SPEC_FIELD_NAMES } from '../../../domain/machine/spec-field.ts';
import type { CommandContext } from '../../command-context.ts';
import { UsageError } from '../../errors/usage-error.ts';
import { addOutput, pairs, several } from '../../input/options.ts';
import { addSpecOptions, specOptions } from '../../input/spec-options.ts';
import type { OutputFormat } from '../../output/format.ts';
import { writeMachine } from './show-machine.ts';

interface SpecOptions {
  readonly label?: readonly (readonly [string, string])[];
  readonly output: OutputFormat;
}

function addSpec(command: Command): Command {
  return addOutput(
    addSpecOptions(command, SPEC_FIELD_NAMES).option(
      '-l, --label <key=value>',
      'set a label (may be repeated)',
      pairs,
    ),
  );
}

export function registerMachine(context: CommandContext): Command {
  const command = new Command('register')
    .description('Register a machine, or replace labels and spec of one that exists')
    .argument('[machine-id]', 'made by the server when left out');
  return addSpec(command).action(
    context.action<SpecOptions>(async ({ args: [machineId = ''], options, api }) => {
      const labels = Object.fromEntries(options.label ?? []);
      const machine = await api.machines.registerMachine({
        machine: { machineId, labels, spec: specOptions(options).spec },
      });
      context.err.line(`registered ${machine.machineId}`);
      writeMachine(context, options.output, machine);
      return 'ok';
    }),
  );
}

export function updateMachine(context: CommandContext): Command {
  const command = new Command('update')
    .description('Change labels and spec of a machine; what is not named stays as it is')
    .argument('<machine-id>')
    .option('--unlabel <key>', 'remove a label (may be repeated)', several);
  return addSpec(command).action(
    context.action<SpecOptions & { unlabel?: readonly string[] }>(
      async ({ args: [machineId = ''], options, api }) => {
        const set = options.label ?? [];
        const keys = [...set.map(([key]) => key), ...(options.unlabel ?? [])];
        const { spec, paths: specPaths } = specOptions(options);
        const paths = [...keys.map((key) => `labels.${key}`), ...specPaths];
        if (paths.length === 0)
          throw new UsageError('nothing to change: give --label, --unlabel or a spec option');
        if (new Set(keys).size < keys.length) throw new UsageError('a label is named twice');
        const machine = await api.machines.updateMachine({
          machine: { machineId, labels: Object.fromEntries(set), spec },
          updateMask: { paths },
        });
        context.err.line(`updated ${machine.machineId}`);
        writeMachine(context, options.output, machine);
        return 'ok';
      },
    ),
  );
}
