import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Command, Option } from 'commander';
import { ROLES } from '../../../domain/actor.ts';
import {
  CreateTokenResponseSchema,
  type Token,
  TokenSchema,
} from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { addOutput, duration, oneOfOrMore } from '../../input/options.ts';
import {
  isForPeople,
  jsonOf,
  type OutputFormat,
  type Rendering,
  writeList,
  writeOne,
} from '../../output/format.ts';
import { instantText } from '../../output/time-text.ts';

const COLUMNS: Rendering<Token>['columns'] = [
  { header: 'NAME', cell: ({ name }) => name },
  { header: 'ROLE', cell: ({ role }) => role },
  { header: 'SCOPE', cell: ({ scope }) => scope },
  { header: 'CREATED', cell: ({ createdAt }) => instantText(createdAt) },
  { header: 'CREATED_BY', cell: ({ createdBy }) => createdBy },
  { header: 'EXPIRES', cell: ({ expiresAt }) => instantText(expiresAt) || 'never' },
  { header: 'REVOKED', cell: ({ revokedAt }) => instantText(revokedAt) },
];

const TOKENS: Rendering<Token> = {
  json: (token) => jsonOf(TokenSchema, token),
  name: ({ name }) => name,
  columns: COLUMNS,
  wideColumns: COLUMNS,
};

export function tokenGroup(context: CommandContext): Command {
  return new Command('token')
    .description('Create, list and revoke access tokens (admin)')
    .addCommand(createToken(context))
    .addCommand(listTokens(context))
    .addCommand(revokeToken(context));
}

function createToken(context: CommandContext): Command {
  const command = new Command('create')
    .description('Create a token; it is shown only once')
    .argument('<name>')
    .addOption(
      oneOfOrMore(
        new Option('--role <role>', "its role, or one of the server's configuration"),
        ROLES,
      ).makeOptionMandatory(),
    )
    .option('--scope <filter>', "the machines that it is for, such as 'customer_id=acme' (default: yours)")
    .option('--expires <time>', 'its lifetime: 12h, 30d (default: until revoked)', duration);
  return addOutput(command).action(
    context.action<{ output: OutputFormat; role: string; scope?: string; expires?: number }>(
      async ({ args: [name = ''], options, api }) => {
        const expiresAt =
          options.expires === undefined ? undefined : timestampFromMs(context.now() + options.expires);
        const request = {
          ...{ name, role: options.role, scope: options.scope ?? '' },
          ...(expiresAt === undefined ? {} : { expiresAt }),
        };
        const created = await api.admin.createToken(request);
        const rendering = {
          json: () => jsonOf(CreateTokenResponseSchema, created),
          name: () => created.token?.name ?? name,
          columns: [],
          wideColumns: [],
        };
        // Only the secret, so that INGOT_TOKEN=$(ingot token create ...) works.
        writeOne(context.out, options.output, rendering, created, () => context.out.line(created.secret));
        if (isForPeople(options.output)) {
          const until = expiresAt === undefined ? 'until it is revoked' : `until ${instantText(expiresAt)}`;
          const scope = created.token?.scope ? ` for ${created.token.scope}` : '';
          context.err.line(`token ${name} (${options.role}${scope}), valid ${until}; it is not shown again`);
        }
        return 'ok';
      },
    ),
  );
}

function listTokens(context: CommandContext): Command {
  return addOutput(new Command('list').description('List tokens')).action(
    context.action<{ output: OutputFormat }>(async ({ options, api }) => {
      const { tokens } = await api.admin.listTokens({});
      await writeList(context.out, options.output, TOKENS, [tokens]);
      return 'ok';
    }),
  );
}

function revokeToken(context: CommandContext): Command {
  const command = new Command('revoke')
    .description('Revoke a token: it is refused from now on')
    .argument('<name>');
  return addOutput(command).action(
    context.action<{ output: OutputFormat }>(async ({ args: [name = ''], options, api }) => {
      const token = await api.admin.revokeToken({ name });
      writeOne(context.out, options.output, TOKENS, token, () => context.out.line(`revoked ${token.name}`));
      return 'ok';
    }),
  );
}
