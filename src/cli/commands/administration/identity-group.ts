/** Identities of issuers and client certificates: list them, end the access of one, and restore it. */
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Command } from 'commander';
import { type KnownIdentity, KnownIdentitySchema } from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { addListing, addOutput, duration } from '../../input/options.ts';
import { jsonOf, type OutputFormat, type Rendering, writeOne } from '../../output/format.ts';
import { type ListingOptions, writeListing } from '../../output/listing.ts';
import { instantText } from '../../output/time-text.ts';

const COLUMNS: Rendering<KnownIdentity>['columns'] = [
  { header: 'IDENTITY', cell: ({ identity }) => identity },
  { header: 'ROLE', cell: ({ role }) => role },
  { header: 'SCOPE', cell: ({ scope }) => scope },
  { header: 'LAST_USED', cell: ({ lastUsedAt }) => instantText(lastUsedAt) || 'never' },
  { header: 'ENDS', cell: ({ endsAt }) => instantText(endsAt) },
];

const IDENTITIES: Rendering<KnownIdentity> = {
  json: (identity) => jsonOf(KnownIdentitySchema, identity),
  name: ({ identity }) => identity,
  columns: COLUMNS,
  wideColumns: [
    ...COLUMNS,
    { header: 'USED_FROM', cell: ({ lastUsedFrom }) => lastUsedFrom },
    { header: 'FIRST_USED', cell: ({ firstUsedAt }) => instantText(firstUsedAt) },
    { header: 'ENDED_BY', cell: ({ endedBy }) => endedBy },
    { header: 'REASON', cell: ({ endReason }) => endReason },
  ],
};

export function identityGroup(context: CommandContext): Command {
  return new Command('identity')
    .description('List, revoke and restore identities of issuers and client certificates (admin)')
    .addCommand(listIdentities(context))
    .addCommand(revokeIdentity(context))
    .addCommand(restoreIdentity(context));
}

function listIdentities(context: CommandContext): Command {
  const command = new Command('list').description('List identities, the one that was used last first');
  return addListing(command, IDENTITIES).action(
    context.action<ListingOptions>(async ({ options, api }) => {
      const { identities } = await api.admin.listIdentities({});
      return writeListing(context, options, IDENTITIES, [identities], 'no identities yet');
    }),
  );
}

function revokeIdentity(context: CommandContext): Command {
  const command = new Command('revoke')
    .description('Refuse every call of an identity, and end its sessions')
    .argument('<identity>', 'as events name it, such as corp:4711')
    .requiredOption('--reason <text>', 'why; it becomes part of the event')
    .option('--at <time>', 'after this time instead of at once: 12h, 7d', duration);
  return addOutput(command).action(
    context.action<{ output: OutputFormat; reason: string; at?: number }>(
      async ({ args: [identity = ''], options: { output, reason, at }, api }) => {
        const when = at === undefined ? {} : { at: timestampFromMs(context.now() + at) };
        const ended = await api.admin.revokeIdentity({ identity, reason, ...when });
        writeOne(context.out, output, IDENTITIES, ended, () =>
          context.out.line(`the access of ${identity} ends ${instantText(ended.endsAt)}`),
        );
        return 'ok';
      },
    ),
  );
}

function restoreIdentity(context: CommandContext): Command {
  const command = new Command('restore')
    .description('Let an identity in again that was revoked')
    .argument('<identity>')
    .option('--reason <text>', 'why; it becomes part of the event');
  return addOutput(command).action(
    context.action<{ output: OutputFormat; reason?: string }>(
      async ({ args: [identity = ''], options: { output, reason = '' }, api }) => {
        const restored = await api.admin.restoreIdentity({ identity, reason });
        writeOne(context.out, output, IDENTITIES, restored, () =>
          context.out.line(`${identity} is let in again`),
        );
        return 'ok';
      },
    ),
  );
}
