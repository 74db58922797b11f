/** Edits fields of one node. An edited field keeps its value until it is cleared, whatever the machine reports. */
import { Command, Option } from 'commander';
import { ARCHITECTURES, BOOT_MODES } from '../../../domain/install/node.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Answer } from '../../connection/rest-client.ts';
import { UsageError } from '../../errors/usage-error.ts';
import { addOutput, addReason, oneOf } from '../../input/options.ts';
import { type OutputFormat, writeOne } from '../../output/format.ts';
import { plainText } from '../../output/plain-text.ts';
import { type NodeBody, nodePath, nodes } from '../../rendering/node-rendering.ts';

/** The field that each option sets. */
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
    .description('Edit fields of a node; an edited field keeps its value, whatever the machine reports')
    .argument('<node-id>')
    .option('--hostname <name>', 'its host name')
    .option('--vendor <text>', 'its manufacturer')
    .option('--model <text>', 'its model')
    .option('--serial-number <text>', 'its serial number')
    .option('--system-uuid <text>', 'its UUID')
    .addOption(oneOf(new Option('--arch <name>', 'its CPU architecture'), ARCHITECTURES))
    .addOption(oneOf(new Option('--boot-mode <mode>', 'how it boots'), BOOT_MODES))
    .option('--group <name>', 'its group: the label `group` of the machine')
    .option('--notes <text>', 'notes for people')
    .addOption(
      new Option('--clear <field...>', "fields to take from the machine's reports again").choices(
        Object.values(FIELDS),
      ),
    );
  return addOutput(addReason(command)).action(
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
