import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Command, Option } from 'commander';
import { ROLES } from '../../../domain/actor.ts';
import {
  type CreateTokenResponse,
  CreateTokenResponseSchema,
  type Token,
  TokenSchema,
} from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import { openSecretFile } from '../../../secret-file.ts';
import type { CommandContext } from '../../command-context.ts';
import { UsageError } from '../../errors/usage-error.ts';
import {
  addExamples,
  addListing,
  addOutput,
  addReason,
  duration,
  durationOrNone,
  oneOfOrMore,
} from '../../input/options.ts';
import { isForPeople, jsonOf, type OutputFormat, type Rendering, writeOne } from '../../output/format.ts';
import { type ListingOptions, writeListing } from '../../output/listing.ts';
import { instantText } from '../../output/time-text.ts';
import { showCommand } from '../show-from-list.ts';

const DAY_MS = 86_400_000;

const COLUMNS: Rendering<Token>['columns'] = [
  { header: 'NAME', cell: ({ name }) => name },
  { header: 'ROLE', cell: ({ role }) => role, stays: 'longest' },
  { header: 'SCOPE', cell: ({ scope }) => scope },
  { header: 'CREATED', cell: ({ createdAt }) => instantText(createdAt) },
  { header: 'CREATED_BY', cell: ({ createdBy }) => createdBy },
  { header: 'EXPIRES', cell: ({ expiresAt }) => instantText(expiresAt) || 'never', stays: 'longest' },
  { header: 'LAST_USED', cell: ({ lastUsedAt }) => instantText(lastUsedAt) || 'never', stays: 'longest' },
  { header: 'REVOKED', cell: ({ revokedAt }) => instantText(revokedAt), stays: 'longest' },
];

const TOKENS: Rendering<Token> = {
  json: (token) => jsonOf(TokenSchema, token),
  name: ({ name }) => name,
  columns: COLUMNS,
  wideColumns: [
    ...COLUMNS,
    { header: 'USED_FROM', cell: ({ lastUsedFrom }) => lastUsedFrom },
    { header: 'ROTATED', cell: ({ rotatedAt }) => instantText(rotatedAt) },
    { header: 'FORMER_UNTIL', cell: ({ previousExpiresAt }) => instantText(previousExpiresAt) },
  ],
};

export function tokenGroup(context: CommandContext): Command {
  return new Command('token')
    .description('Access tokens: create, list, rotate and revoke them (admin)')
    .addCommand(createToken(context))
    .addCommand(listTokens(context))
    .addCommand(showToken(context), { isDefault: true })
    .addCommand(rotateToken(context))
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
    .option('--expires <time>', "its lifetime: 12h, 30d (default: the server's, usually 90d)", duration)
    .option('--no-expiry', 'it never expires');
  addExamples(command, context.program, [
    'token create ci --role operator --expires 30d',
    "token create acme --role viewer --scope 'customer_id=acme'",
  ]);
  return addOutput(addReason(command)).action(
    context.action<ExpiryOptions & { output: OutputFormat; role: string; scope?: string }>(
      async ({ args: [name = ''], options, api }) => {
        const { role, scope = '' } = options;
        const created = await api.admin.createToken({ name, role, scope, ...expiryOf(context, options) });
        writeSecret(context, options.output, created);
        return 'ok';
      },
    ),
  );
}

interface ExpiryOptions {
  readonly expires?: number;
  /** False where --no-expiry is given. */
  readonly expiry: boolean;
}

/** Without either option the server decides. */
function expiryOf(context: CommandContext, { expires, expiry }: ExpiryOptions) {
  if (expires !== undefined && !expiry) throw new UsageError('--expires and --no-expiry exclude each other');
  if (expires !== undefined) return { expiresAt: timestampFromMs(context.now() + expires) };
  return { noExpiry: !expiry };
}

function writeSecret(context: CommandContext, output: OutputFormat, created: CreateTokenResponse): void {
  const { token, secret } = created;
  const rendering = {
    json: () => jsonOf(CreateTokenResponseSchema, created),
    name: () => token?.name ?? '',
    columns: [],
    wideColumns: [],
  };
  // Only the secret, so that INGOT_TOKEN=$(ingot token create ...) works.
  writeOne(context.out, output, rendering, created, () => context.out.line(secret));
  if (!token || !isForPeople(output)) return;
  context.err.line(`${describe(token)}; it is not shown again`);
}

function describe({ name, role, scope, expiresAt, previousExpiresAt }: Token): string {
  const until = expiresAt === undefined ? 'until it is revoked' : `until ${instantText(expiresAt)}`;
  const former = previousExpiresAt ? `, its former secret until ${instantText(previousExpiresAt)}` : '';
  return `token ${name} (${role}${scope === '' ? '' : ` for ${scope}`}), valid ${until}${former}`;
}

function rotateToken(context: CommandContext): Command {
  const command = new Command('rotate')
    .description('Give a token another secret; the former one stays valid for a while')
    .argument('<name>')
    .option('--overlap <time>', 'how long the former secret stays valid: 1h, 7d, 0s', durationOrNone, DAY_MS)
    .option('--expires <time>', 'the lifetime of the new secret (default: as long again)', duration)
    .option('--no-expiry', 'the new secret never expires')
    .option('--file <path>', 'write the new secret to this file, mode 0600, instead of showing it');
  return addOutput(addReason(command)).action(
    context.action<ExpiryOptions & { output: OutputFormat; overlap: number; file?: string }>(
      async ({ args: [name = ''], options, api }) => {
        const overlapSeconds = BigInt(Math.round(options.overlap / 1000));
        const file = options.file === undefined ? null : openSecretFile(options.file);
        try {
          const request = { name, overlapSeconds, ...expiryOf(context, options) };
          const rotated = await api.admin.rotateToken(request);
          file?.replace(rotated.secret);
          if (!file) writeSecret(context, options.output, rotated);
          else if (rotated.token) context.err.line(`${describe(rotated.token)}; written to ${options.file}`);
        } finally {
          file?.discard();
        }
        return 'ok';
      },
    ),
  );
}

function listTokens(context: CommandContext): Command {
  return addListing(new Command('list').description('List tokens'), TOKENS).action(
    context.action<ListingOptions>(async ({ options, api }) => {
      const { tokens } = await api.admin.listTokens({});
      return writeListing(context, options, TOKENS, [tokens], 'no tokens yet');
    }),
  );
}

function showToken(context: CommandContext): Command {
  return showCommand(context, {
    noun: 'token',
    rendering: TOKENS,
    list: async (api) => (await api.admin.listTokens({})).tokens,
  });
}

function revokeToken(context: CommandContext): Command {
  const command = new Command('revoke')
    .description('Revoke a token: it is refused from now on')
    .argument('<name>');
  return addOutput(addReason(command)).action(
    context.action<{ output: OutputFormat }>(async ({ args: [name = ''], options, api }) => {
      const token = await api.admin.revokeToken({ name });
      writeOne(context.out, options.output, TOKENS, token, () => context.out.line(`revoked ${token.name}`));
      return 'ok';
    }),
  );
}
