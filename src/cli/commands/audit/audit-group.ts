/** The event log as evidence: verify it, export it, and what that needs. */
import { writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { APPEND_ONLY_ROLE, appendOnlySql } from '../../../audit/append-only-sql.ts';
import { type AuditKey, AuditKeySchema } from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { UsageError } from '../../errors/usage-error.ts';
import { addExamples, addOutput, addReason, instant } from '../../input/options.ts';
import { jsonOf, type OutputFormat, type Rendering, writeOne } from '../../output/format.ts';
import { plainJson } from '../../output/plain-text.ts';
import { type ExportLimits, exportedLines } from './exported-lines.ts';
import { verifyAudit } from './verify-audit.ts';

export function auditGroup(context: CommandContext): Command {
  return new Command('audit')
    .description('The event log as evidence: verify and export it (admin)')
    .addCommand(verifyAudit(context))
    .addCommand(exportAudit(context))
    .addCommand(showKey(context))
    .addCommand(rotateKey(context))
    .addCommand(showRole(context));
}

interface ExportOptions extends ExportLimits {
  readonly file?: string;
}

function exportAudit(context: CommandContext): Command {
  const now = () => context.now();
  const command = new Command('export')
    .description('Write the event log and its proof as JSON lines')
    .option(
      '--since <time>',
      'events from this time on: 2026-11-01, 2026-11-01T12:00:00Z, or 24h ago as 24h',
      (text) => instant(text, now()),
    )
    .option('--until <time>', 'events before this time', (text) => instant(text, now()))
    .option('--actor <actor>', 'events of this actor only: alice, or admin:alice')
    .option('--file <path>', 'write to this file instead of stdout');
  return addExamples(command, context.program, [
    'audit export --file events.jsonl',
    'audit export --since 24h --actor alice',
  ]).action(
    context.action<ExportOptions>(async ({ options, api }) => {
      const lines = exportedLines(api, options);
      if (options.file !== undefined) await writeFileLines(context, context.pathOf(options.file), lines);
      else {
        for await (const line of lines) {
          context.out.line(plainJson(line));
          await context.out.drained();
        }
      }
      return 'ok';
    }),
  );
}

/** The events say who did what from where: the file is for its owner. */
async function writeFileLines(
  context: CommandContext,
  path: string,
  lines: AsyncIterable<string>,
): Promise<void> {
  let count = 0;
  let text = '';
  const flush = (flag: 'w' | 'a') => {
    try {
      writeFileSync(path, text, { flag, mode: 0o600 });
    } catch (error) {
      throw new UsageError(`--file: can't write ${path} (${(error as NodeJS.ErrnoException).code})`);
    }
    text = '';
  };
  flush('w');
  for await (const line of lines) {
    text += `${line}\n`;
    count += line.startsWith('{"type":"event"') ? 1 : 0;
    if (text.length > 1_000_000) flush('a');
  }
  flush('a');
  context.err.line(`${count} events in ${path}`);
}

const KEY: Rendering<AuditKey> = {
  json: (key) => jsonOf(AuditKeySchema, key),
  name: ({ keyId }) => keyId,
  columns: [],
  wideColumns: [],
};

function showKey(context: CommandContext): Command {
  const command = new Command('key').description('Print the public key that signs the audit chain, as PEM');
  return addOutput(command).action(
    context.action<{ output: OutputFormat }>(async ({ options, api }) => {
      const key = await api.admin.getAuditKey({});
      writeOne(context.out, options.output, KEY, key, () => {
        context.out.write(key.publicKey);
        context.err.line(`${key.keyId}; ${key.sealedEvents} events are sealed in ${key.blockNo} blocks`);
      });
      return 'ok';
    }),
  );
}

function rotateKey(context: CommandContext): Command {
  const command = new Command('rotate-key').description(
    'Replace the key that signs the audit chain, and print the new public key as PEM',
  );
  addExamples(command, context.program, ['audit rotate-key > audit.pub']);
  return addOutput(addReason(command)).action(
    context.action<{ output: OutputFormat }>(async ({ options, api }) => {
      const { keyId } = await api.admin.getAuditKey({});
      const key = await api.admin.rotateAuditKey({ keyId });
      writeOne(context.out, options.output, KEY, key, () => {
        context.out.write(key.publicKey);
        context.err.line(`${key.keyId} signs from block ${key.blockNo} on; the key before it has signed it`);
      });
      return 'ok';
    }),
  );
}

/** Needs no server: the administrator of the database runs it there. */
function showRole(context: CommandContext): Command {
  return new Command('role')
    .description('Print the SQL for a database role that can only append to the event log')
    .option('--name <role>', 'the name of the role', APPEND_ONLY_ROLE)
    .action((options: { name: string }) => {
      if (!/^[a-z_][a-z0-9_]{0,62}$/.test(options.name))
        throw new UsageError('--name: expected lower-case letters, digits and "_"');
      context.out.write(appendOnlySql(options.name));
    });
}
