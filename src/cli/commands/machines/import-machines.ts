import { Command, InvalidArgumentError } from 'commander';
import { SPEC_FIELD_NAMES, SPEC_FIELDS } from '../../../domain/machine/spec/spec-field.ts';
import type { Machine } from '../../../gen/baremetal/v2/machine_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Api } from '../../connection/api.ts';
import { CallError } from '../../connection/call-error.ts';
import { status } from '../../connection/status.ts';
import { addOutput, addReason, pairs, wholeNumber } from '../../input/options.ts';
import { addSpecOptions, specOptions } from '../../input/spec-options.ts';
import { type OutputFormat, writeList } from '../../output/format.ts';
import { machineRendering } from '../../rendering/machine-rendering.ts';
import { forEachBounded } from './for-each-bounded.ts';

interface ImportOptions {
  readonly output: OutputFormat;
  readonly prefix: string;
  readonly label?: readonly (readonly [string, string])[];
}

const SHARED_FIELDS = SPEC_FIELD_NAMES.filter((name) => SPEC_FIELDS[name].values === 'shared');

const CONCURRENT_CALLS = 32;
const MOST = 100_000;

function count(text: string): number {
  const number = wholeNumber(text);
  if (number > MOST) throw new InvalidArgumentError(`The maximum is ${MOST}.`);
  return number;
}

export function importMachines(context: CommandContext): Command {
  const command = new Command('import')
    .description('Register N machines: machine-1 to machine-N; existing ones are not changed')
    .argument('<N>', 'how many', count)
    .option('--prefix <text>', 'the prefix of their ids', 'machine-')
    .option('-l, --label <key=value>', 'set a label (may be repeated)', pairs);
  return addOutput(addReason(addSpecOptions(command, SHARED_FIELDS))).action(
    context.action<ImportOptions>(async ({ args: [n], options, api }) => {
      const ids = Array.from({ length: Number(n) }, (_, i) => `${options.prefix}${i + 1}`);
      const machines = new Map<string, Machine>();
      let existing = 0;
      await forEachBounded(ids, CONCURRENT_CALLS, async (machineId) => {
        const found = await find(api, machineId);
        if (found !== undefined) existing += 1;
        machines.set(machineId, found ?? (await register(api, machineId, options)));
      });
      const inOrder = ids.flatMap((id) => machines.get(id) ?? []);
      await writeList(context.out, options.output, machineRendering(context.now()), [inOrder]);
      const kept = existing === 0 ? '' : `; ${existing} existed and were not changed`;
      context.err.line(`registered ${ids.length - existing} machines${kept}`);
      return 'ok';
    }),
  );
}

/** Registering an existing machine would replace its labels and spec. An import does not. */
async function find(api: Api, machineId: string): Promise<Machine | undefined> {
  try {
    return await api.machines.getMachine({ machineId });
  } catch (error) {
    if (error instanceof CallError && error.code === status.NOT_FOUND) return undefined;
    throw error;
  }
}

function register(api: Api, machineId: string, options: ImportOptions): Promise<Machine> {
  const labels = Object.fromEntries(options.label ?? []);
  return api.machines.registerMachine({ machine: { machineId, labels, spec: specOptions(options).spec } });
}
