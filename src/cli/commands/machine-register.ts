import { Command } from 'commander';
import type { CommandContext } from '../context.ts';
import { addOutput, pairs, several } from '../options.ts';
import type { OutputFormat } from '../output/format.ts';
import { UsageError } from '../usage-error.ts';
import { writeMachine } from './machine-show.ts';

interface SpecOptions {
  readonly sshEndpoint?: string;
  readonly bmcEndpoint?: string;
  readonly cluster?: string;
  readonly mac?: readonly string[];
  readonly provider?: string;
  readonly label?: readonly (readonly [string, string])[];
  readonly output: OutputFormat;
}

/** The fields of a spec, the options that set them, and the paths that a mask names them by. */
const SPEC_FIELDS = {
  sshEndpoint: { path: 'spec.ssh_endpoint', value: (options: SpecOptions) => options.sshEndpoint },
  bmcEndpoint: { path: 'spec.bmc_endpoint', value: (options: SpecOptions) => options.bmcEndpoint },
  targetClusterRef: { path: 'spec.target_cluster_ref', value: (options: SpecOptions) => options.cluster },
  macAddresses: { path: 'spec.mac_addresses', value: (options: SpecOptions) => options.mac },
  provider: { path: 'spec.provider', value: (options: SpecOptions) => options.provider },
};

function specOf(options: SpecOptions) {
  const given = Object.entries(SPEC_FIELDS).flatMap(([field, { value }]) => {
    const set = value(options);
    return set === undefined ? [] : [[field, set]];
  });
  return Object.fromEntries(given);
}

function addSpec(command: Command): Command {
  return addOutput(
    command
      .option('--ssh-endpoint <host:port>', 'where ssh answers')
      .option('--bmc-endpoint <host:port>', 'where the BMC answers')
      .option('--mac <address>', 'a MAC address (may be repeated)', several)
      .option('--cluster <ref>', 'the Kubernetes cluster that it belongs to')
      .option('--provider <name>', 'who drives it (default: that of the label provider, or the default one)')
      .option('-l, --label <key=value>', 'set a label (may be repeated)', pairs),
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
        machine: { machineId, labels, spec: specOf(options) },
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
        const specPaths = Object.values(SPEC_FIELDS).filter(({ value }) => value(options) !== undefined);
        const paths = [...keys.map((key) => `labels.${key}`), ...specPaths.map(({ path }) => path)];
        if (paths.length === 0)
          throw new UsageError('nothing to change: give --label, --unlabel or a spec option');
        if (new Set(keys).size < keys.length) throw new UsageError('a label is named twice');
        const machine = await api.machines.updateMachine({
          machine: { machineId, labels: Object.fromEntries(set), spec: specOf(options) },
          updateMask: { paths },
        });
        context.err.line(`updated ${machine.machineId}`);
        writeMachine(context, options.output, machine);
        return 'ok';
      },
    ),
  );
}
