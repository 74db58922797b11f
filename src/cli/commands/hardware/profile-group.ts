/** Hardware profiles: what machines must have (docs/hardware.md#profiles). */
import { Command } from 'commander';
import {
  type HardwareProfile,
  HardwareProfileSchema,
} from '../../../gen/baremetal/fleet/v1/hardware_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { addExamples, addListing, addOutput, addReason, several } from '../../input/options.ts';
import { jsonOf, type OutputFormat, type Rendering, writeOne } from '../../output/format.ts';
import { type ListingOptions, writeListing } from '../../output/listing.ts';
import { plainText } from '../../output/plain-text.ts';
import type { Column } from '../../output/table.ts';
import { instantText } from '../../output/time-text.ts';
import { showCommand } from '../show-from-list.ts';

const COLUMNS: readonly Column<HardwareProfile>[] = [
  { header: 'PROFILE', cell: ({ name }) => name },
  { header: 'MATCH', cell: ({ match }) => match },
  { header: 'EXPECT', cell: ({ expect }) => expect.join(', ') },
];

const PROFILES: Rendering<HardwareProfile> = {
  json: (profile) => jsonOf(HardwareProfileSchema, profile),
  name: ({ name }) => name,
  columns: COLUMNS,
  wideColumns: [
    ...COLUMNS,
    { header: 'DESCRIPTION', cell: ({ description }) => description },
    { header: 'CREATED_BY', cell: ({ createdBy }) => createdBy },
    { header: 'CREATED', cell: ({ createdAt }) => instantText(createdAt) },
  ],
};

export function profileGroup(context: CommandContext): Command {
  return new Command('profile')
    .description('What machines must have; those that differ become Degraded')
    .addCommand(listProfiles(context))
    .addCommand(showProfile(context), { isDefault: true })
    .addCommand(setProfile(context))
    .addCommand(deleteProfile(context));
}

function listProfiles(context: CommandContext): Command {
  const command = new Command('list').description('List hardware profiles, by name');
  return addListing(command, PROFILES).action(
    context.action<ListingOptions>(async ({ options, api }) => {
      const { profiles } = await api.hardware.listHardwareProfiles({});
      const none = `no hardware profiles yet; create one: ${context.program} hardware profile set --help`;
      return writeListing(context, options, PROFILES, [profiles], none);
    }),
  );
}

function showProfile(context: CommandContext): Command {
  return showCommand(context, {
    noun: 'hardware profile',
    rendering: PROFILES,
    list: async (api) => (await api.hardware.listHardwareProfiles({})).profiles,
  });
}

interface SetOptions {
  readonly output: OutputFormat;
  readonly match: string;
  readonly expect: readonly string[];
  readonly description?: string;
}

function setProfile(context: CommandContext): Command {
  const command = new Command('set')
    .description('Create a hardware profile, or replace the one of that name (admin)')
    .argument('<name>')
    .requiredOption('--match <filter>', 'which machines it is for, such as labels.sku=hgx')
    .requiredOption(
      '--expect <comparison>',
      'what they must have, such as hardware.gpu.count=8 (may be repeated)',
      several,
    )
    .option('--description <text>', 'a description for people');
  addExamples(command, context.program, [
    `hardware profile set hgx --match 'labels.sku=hgx' --expect hardware.gpu.count=8 --expect 'hardware.memory_gib>=2048'`,
  ]);
  return addOutput(addReason(command)).action(
    context.action<SetOptions>(async ({ args: [name = ''], options, api }) => {
      const { match, expect, description = '' } = options;
      const profile = await api.hardware.setHardwareProfile({
        profile: { name, match, expect: [...expect], description },
      });
      writeOne(context.out, options.output, PROFILES, profile, () =>
        context.out.line(`set hardware profile ${plainText(profile.name)}`),
      );
      return 'ok';
    }),
  );
}

function deleteProfile(context: CommandContext): Command {
  const command = new Command('delete')
    .alias('remove')
    .description('Delete a hardware profile (admin)')
    .argument('<name>');
  return addOutput(addReason(command)).action(
    context.action<{ output: OutputFormat }>(async ({ args: [name = ''], options, api }) => {
      const profile = await api.hardware.deleteHardwareProfile({ name });
      writeOne(context.out, options.output, PROFILES, profile, () =>
        context.out.line(`deleted hardware profile ${plainText(profile.name)}`),
      );
      return 'ok';
    }),
  );
}
