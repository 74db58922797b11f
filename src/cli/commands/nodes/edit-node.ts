/** What an operator says of one node; it stays until it is cleared, whatever the machine reports. */
import { Command, Option } from 'commander';
import { ARCHITECTURES, BOOT_MODES } from '../../../domain/install/node.ts';
import type { CommandContext } from '../../command-context.ts';
import { UsageError } from '../../errors/usage-error.ts';
import { addOutput, oneOf } from '../../input/options.ts';
import { type OutputFormat, writeOne } from '../../output/format.ts';
import { plainText } from '../../output/plain-text.ts';
import { type Answer, type NodeBody, nodePath, nodes } from '../../rendering/node-rendering.ts';

/** The options, by the field that each sets. */
const FIELDS = {
  hostname: 'hostname',
  vendor: 'vendor',
  model: 'model',
  serialNumber: 'serial_number',
  systemUuid: 'system_uuid',
  arch: 'arch',
  bootMode: 'boot_mode',
  group: 'group',
  notes: 'notes',
} as const;

type EditOptions = Partial<Record<keyof typeof FIELDS, string>> & {
  readonly output: OutputFormat;
  readonly clear?: readonly string[];
};

export function editNode(context: CommandContext): Command {
  const command = new Command('edit')
    .description('Correct what is known of a node; what is edited stays, whatever the machine reports')
    .argument('<node-id>')
    .option('--hostname <name>', 'its host name')
    .option('--vendor <text>', 'who made it')
    .option('--model <text>', 'its model')
    .option('--serial-number <text>', 'its serial number')
    .option('--system-uuid <text>', 'its UUID')
    .addOption(oneOf(new Option('--arch <name>', 'its processor'), ARCHITECTURES))
    .addOption(oneOf(new Option('--boot-mode <mode>', 'how it boots'), BOOT_MODES))
    .option('--group <name>', 'its group: the label `group` of the machine')
    .option('--notes <text>', 'for people')
    .addOption(
      new Option('--clear <field...>', 'fields that the machine may report again').choices(
        Object.values(FIELDS),
      ),
    );
  return addOutput(command).action(
    context.restAction<EditOptions>(async ({ args: [id = ''], options, rest }) => {
      const body: Record<string, string | null> = {};
      for (const field of options.clear ?? []) body[field] = null;
      for (const [option, field] of Object.entries(FIELDS)) {
        const value = options[option as keyof typeof FIELDS];
        if (value === undefined) continue;
        if (field in body) throw new UsageError(`${field} is set and cleared at once`);
        body[field] = value;
      }
      if (Object.keys(body).length === 0) throw new UsageError('which field? see --help');
      const { data } = await rest.call<Answer<NodeBody>>('PATCH', nodePath(id), body);
      writeOne(context.out, options.output, nodes(context.now()), data, () => {
        for (const field of Object.keys(body)) {
          context.out.line(`${field}: ${plainText(String(data[field] ?? '-'))}`);
        }
      });
      return 'ok';
    }),
  );
}
