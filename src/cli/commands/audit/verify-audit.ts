/** Verifies the event log on this side: the server only hands it over, so it can't vouch for itself. */
import { createReadStream, readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { JsonValue } from '@bufbuild/protobuf';
import { Command, Option } from 'commander';
import { keyIdInPem, NotAKey } from '../../../audit/audit-key.ts';
import { NotJson } from '../../../audit/canonical-json.ts';
import type { Checkpoint } from '../../../audit/chain.ts';
import { ChainVerifier, type VerifyReport } from '../../../audit/chain-verifier.ts';
import { readCheckpoint, recordLine } from '../../../audit/export-record.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Exit } from '../../errors/exit-code.ts';
import { UsageError } from '../../errors/usage-error.ts';
import { addExamples, addOutput, several } from '../../input/options.ts';
import { isForPeople, type OutputFormat, type Rendering, writeOne } from '../../output/format.ts';
import { plainText } from '../../output/plain-text.ts';
import { exportedLines } from './exported-lines.ts';

interface VerifyOptions {
  readonly output: OutputFormat;
  readonly file?: string;
  readonly publicKey?: readonly string[];
  readonly checkpoint?: string;
}

const SHOWN_FINDINGS = 20;

export function verifyAudit(context: CommandContext): Command {
  const command = new Command('verify')
    .description('Find events that were changed, removed, inserted or moved')
    .option('--file <export>', 'verify a file of `audit export`, without a server')
    .addOption(
      new Option('--public-key <pem>', 'trust only this key, from `audit key` (may be repeated)').argParser(
        several,
      ),
    )
    .option(
      '--checkpoint <file>',
      'what this verifier knows: the log must still have it; updated when it verifies',
    );
  addExamples(command, context.program, [
    'audit verify --public-key audit.pub --checkpoint head.json',
    'audit verify --file events.jsonl --public-key audit.pub',
  ]);
  const online = context.action<VerifyOptions>(async ({ options, api }) =>
    verify(context, options, exportedLines(api, {})),
  );
  return addOutput(command).action(async (...parameters: unknown[]) => {
    const options = (parameters.at(-1) as Command).optsWithGlobals<VerifyOptions>();
    if (options.file === undefined) return online(...parameters);
    const exit = await verify(context, options, linesOf(context.pathOf(options.file)));
    context.exit(exit);
  });
}

async function verify(
  context: CommandContext,
  options: VerifyOptions,
  lines: AsyncIterable<string>,
): Promise<Exit> {
  const checkpointFile = options.checkpoint === undefined ? null : context.pathOf(options.checkpoint);
  const verifier = new ChainVerifier({
    trustedKeys: (options.publicKey ?? []).map((file) => keyIdIn(context.pathOf(file))),
    remembered: checkpointFile === null ? null : readRemembered(checkpointFile),
  });
  for await (const line of lines) verifier.take(line);
  const report = verifier.finish();
  writeOne(context.out, options.output, REPORT, report, () => writeReport(context, report));
  if (isForPeople(options.output) && !report.isKeyPinned && report.keyIds.length > 0) {
    const [keyId] = report.keyIds;
    context.err.line(`the key ${keyId} was taken from the log itself; compare it, or give --public-key`);
  }
  if (report.found > 0) return 'failed';
  if (checkpointFile !== null && report.checkpoint !== null) remember(checkpointFile, report.checkpoint);
  return 'ok';
}

const REPORT: Rendering<VerifyReport> = {
  json: reportJson,
  name: ({ found }) => (found === 0 ? 'verified' : 'tampered'),
  columns: [],
  wideColumns: [],
};

function reportJson(report: VerifyReport): JsonValue {
  const { checkpoint } = report;
  return {
    verified: report.found === 0,
    events: report.events,
    left_out: report.leftOut,
    unsealed: report.unsealed,
    blocks: report.blocks,
    found: report.found,
    findings: report.findings.map(({ kind, eventId, blockNo, message }) => ({
      kind,
      event_id: eventId,
      block_no: blockNo,
      message,
    })),
    checkpoint: checkpoint && {
      block_no: checkpoint.blockNo,
      hash: checkpoint.hash,
      events: checkpoint.events,
      signed_at: checkpoint.signedAt,
      key_id: checkpoint.keyId,
    },
    key_ids: [...report.keyIds],
    key_pinned: report.isKeyPinned,
  };
}

function writeReport(context: CommandContext, report: VerifyReport): void {
  const { findings, found, events, leftOut, blocks, unsealed, checkpoint } = report;
  for (const { message } of findings.slice(0, SHOWN_FINDINGS)) context.out.line(plainText(message));
  if (found > SHOWN_FINDINGS) context.out.line(`and ${found - SHOWN_FINDINGS} more findings`);
  const counts = [
    `${counted(events, 'event')} in ${counted(blocks, 'block')}`,
    ...(leftOut > 0 ? [`${leftOut} left out`] : []),
    ...(unsealed > 0 ? [`${unsealed} not sealed yet`] : []),
  ].join(', ');
  if (found > 0) context.out.line(`TAMPERED: ${counted(found, 'finding')} in ${counts}`);
  else context.out.line(`verified: ${counts}`);
  if (checkpoint !== null)
    context.out.line(
      `signed up to block ${checkpoint.blockNo} at ${checkpoint.signedAt} by ${checkpoint.keyId}`,
    );
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

async function* linesOf(path: string): AsyncGenerator<string> {
  const input = createReadStream(path, 'utf8');
  try {
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) yield line;
  } catch (error) {
    throw new UsageError(`--file: can't read ${path} (${(error as NodeJS.ErrnoException).code})`);
  }
}

function keyIdIn(path: string): string {
  try {
    return keyIdInPem(readFileSync(path, 'utf8'));
  } catch (error) {
    const problem =
      error instanceof NotAKey ? error.message : `can't be read (${(error as NodeJS.ErrnoException).code})`;
    throw new UsageError(`--public-key: ${path} ${problem}`);
  }
}

/** Null: there is none yet. */
function readRemembered(path: string): Checkpoint | null {
  try {
    return readCheckpoint(readFileSync(path, 'utf8'));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    throw new UsageError(
      `--checkpoint: ${path} ${error instanceof NotJson ? 'is not a checkpoint' : `can't be read (${code})`}`,
    );
  }
}

function remember(path: string, checkpoint: Checkpoint): void {
  try {
    writeFileSync(path, `${recordLine({ type: 'checkpoint', ...checkpoint })}\n`, { mode: 0o600 });
  } catch (error) {
    throw new UsageError(`--checkpoint: can't write ${path} (${(error as NodeJS.ErrnoException).code})`);
  }
}
