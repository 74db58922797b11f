/** Sessions of the console: who is signed in, and signing someone out. */
import { Command } from 'commander';
import {
  type ConsoleSession,
  ConsoleSessionSchema,
} from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { addListing, addOutput } from '../../input/options.ts';
import { jsonOf, type OutputFormat, type Rendering, writeOne } from '../../output/format.ts';
import { type ListingOptions, writeListing } from '../../output/listing.ts';
import { instantText } from '../../output/time-text.ts';
import { showCommand } from '../show-from-list.ts';

const COLUMNS: Rendering<ConsoleSession>['columns'] = [
  { header: 'SESSION_ID', cell: ({ sessionId }) => sessionId },
  { header: 'IDENTITY', cell: ({ identity }) => identity, stays: 'longest' },
  { header: 'SIGNED_IN_WITH', cell: wayText },
  { header: 'SIGNED_IN', cell: ({ createdAt }) => instantText(createdAt) },
  { header: 'LAST_USED', cell: ({ usedAt }) => instantText(usedAt), stays: 'longest' },
  { header: 'EXPIRES', cell: ({ expiresAt }) => instantText(expiresAt) },
];

const SESSIONS: Rendering<ConsoleSession> = {
  json: (session) => jsonOf(ConsoleSessionSchema, session),
  name: ({ sessionId }) => sessionId,
  columns: COLUMNS,
  wideColumns: COLUMNS,
};

function wayText({ issuer, token }: ConsoleSession): string {
  return issuer === '' ? `token ${token}` : `issuer ${issuer}`;
}

export function sessionGroup(context: CommandContext): Command {
  return new Command('session')
    .description('Sessions of the console: list them, and sign people out (admin)')
    .addCommand(listSessions(context))
    .addCommand(showSession(context), { isDefault: true })
    .addCommand(endSession(context));
}

function listSessions(context: CommandContext): Command {
  const command = new Command('list').description('List the sessions of the console that are not over');
  return addListing(command, SESSIONS).action(
    context.action<ListingOptions>(async ({ options, api }) => {
      const { sessions } = await api.admin.listSessions({});
      return writeListing(context, options, SESSIONS, [sessions], 'no one is signed in');
    }),
  );
}

function showSession(context: CommandContext): Command {
  return showCommand(context, {
    noun: 'session',
    argument: 'session-id',
    rendering: SESSIONS,
    list: async (api) => (await api.admin.listSessions({})).sessions,
  });
}

function endSession(context: CommandContext): Command {
  const command = new Command('end')
    .description('Sign someone out: every call and stream of the session is refused from then on')
    .argument('<session-id>')
    .option('--reason <text>', 'why; it becomes part of the event');
  return addOutput(command).action(
    context.action<{ output: OutputFormat; reason?: string }>(
      async ({ args: [sessionId = ''], options: { output, reason = '' }, api }) => {
        const ended = await api.admin.endSession({ sessionId, reason });
        writeOne(context.out, output, SESSIONS, ended, () =>
          context.out.line(`signed ${ended.identity} out`),
        );
        return 'ok';
      },
    ),
  );
}
