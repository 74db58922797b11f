/** The signed evidence of an erasure: printed, and verified without a server. */
import { readFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import { keyIdInPem, NotAKey } from '../../../audit/audit-key.ts';
import {
  certificateJson,
  type EraseDocument,
  NotACertificate,
  type SignedCertificate,
  type VerifiedCertificate,
  verifyCertificate,
} from '../../../audit/erase-certificate.ts';
import { erasureLines, outcomeText } from '../../../domain/install/erasure.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Exit } from '../../errors/exit-code.ts';
import { UsageError } from '../../errors/usage-error.ts';
import { addExamples, addOutput } from '../../input/options.ts';
import { type OutputFormat, type Rendering, writeOne } from '../../output/format.ts';
import { padEnd, plainText } from '../../output/plain-text.ts';

interface CertificateOptions {
  readonly output: OutputFormat;
  readonly operation?: string;
  readonly verify?: string;
  readonly publicKey?: string;
}

export function showEraseCertificate(context: CommandContext): Command {
  const command = new Command('erase-certificate')
    .description(
      'Show the signed evidence of the erasure of a machine: method, result, time and serial number of each drive',
    )
    .argument('[machine-id]')
    .option('--operation <id>', 'the erasure of this operation (default: the newest)')
    .option('--verify <file>', 'verify the signature of a certificate in a file (-o json), without a server')
    .addOption(new Option('--public-key <pem>', 'with --verify: trust only this key, from `audit key`'));
  addExamples(command, context.program, [
    'erase-certificate m-1',
    'erase-certificate m-1 -o json > m-1.json',
    'erase-certificate --verify m-1.json --public-key audit.pub',
  ]);
  const online = context.action<CertificateOptions>(async ({ args: [machineId = ''], options, api }) => {
    if (machineId === '') throw new UsageError('which machine? Or --verify <file>');
    const operationId = options.operation ?? '';
    const found = await api.hardware.getEraseCertificate({ machineId, operationId });
    if (found.failedSince !== '')
      context.err.line(
        `this is the certificate of an earlier erasure; a later one failed: ${plainText(found.failedSince)}`,
      );
    writeOne(context.out, options.output, CERTIFICATE, found, () =>
      writeDocument(context, JSON.parse(found.document) as EraseDocument, found.keyId),
    );
    return 'ok';
  });
  return addOutput(command).action(async (...parameters: unknown[]) => {
    const options = (parameters.at(-1) as Command).optsWithGlobals<CertificateOptions>();
    if (options.verify === undefined) return online(...parameters);
    context.exit(verify(context, options.verify, options));
  });
}

const CERTIFICATE: Rendering<SignedCertificate> = {
  json: (certificate) => JSON.parse(certificateJson(certificate)),
  name: ({ keyId }) => keyId,
  columns: [],
  wideColumns: [],
};

const VERIFIED: Rendering<VerifiedCertificate> = {
  json: ({ document, keyId, problem }) => ({
    valid: problem === null,
    problem: problem ?? '',
    key_id: keyId,
    machine_id: document.machine.machine_id,
    operation_id: document.operation_id,
    outcome: document.outcome,
  }),
  name: ({ problem }) => (problem === null ? 'valid' : 'invalid'),
  columns: [],
  wideColumns: [],
};

function verify(context: CommandContext, file: string, { output, publicKey }: CertificateOptions): Exit {
  const found = readCertificate(context.pathOf(file), file);
  const trusted = publicKey === undefined ? null : readKeyId(context.pathOf(publicKey), publicKey);
  const isOther = trusted !== null && trusted !== found.keyId;
  const problem = found.problem ?? (isOther ? `it is signed by ${found.keyId}, not by ${trusted}` : null);
  const checked = { ...found, problem };
  writeOne(context.out, output, VERIFIED, checked, () => {
    writeDocument(context, found.document, found.keyId);
    context.out.line(`${padEnd('Signature:', WIDTH)}${plainText(problem ?? 'valid')}`);
  });
  if (problem === null && trusted === null)
    context.err.line(
      `the key ${plainText(found.keyId)} was taken from the file itself; compare it with \`audit key\`, or give --public-key`,
    );
  return problem === null ? 'ok' : 'failed';
}

function readCertificate(path: string, shown: string): VerifiedCertificate {
  try {
    return verifyCertificate(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof NotACertificate) throw new UsageError(`${shown} ${error.message}`);
    throw new UsageError(
      `${shown} can't be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`,
    );
  }
}

function readKeyId(path: string, shown: string): string {
  try {
    return keyIdInPem(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof NotAKey) throw new UsageError(`${shown} ${error.message}`);
    throw new UsageError(
      `${shown} can't be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`,
    );
  }
}

const WIDTH = 14;

function writeDocument(context: CommandContext, document: EraseDocument, keyId: string): void {
  const { machine, drives, not_touched: skipped } = document;
  const hardware = [
    machine.vendor,
    machine.model,
    machine.serial_number && `serial ${machine.serial_number}`,
  ];
  const lines: Array<readonly [string, string]> = [
    ['Machine', machine.machine_id],
    ['Hardware', hardware.filter((text) => text !== '').join(', ')],
    ['UUID', machine.uuid],
    ['Outcome', outcomeText(document.outcome)],
    ['Erased by', document.erased_by],
    ['Operation', document.operation_id],
    ['Requested by', document.requested_by],
    ['Issued', document.issued_at],
    ['Signed by', keyId],
    ...erasureLines({ disks: drives, skipped }).map(([name, text]): [string, string] => [
      name,
      `${text}${timeOf(drives, name)}`,
    ]),
  ];
  for (const [label, text] of lines)
    if (text !== '') context.out.line(`${padEnd(`${plainText(label)}:`, WIDTH)}${plainText(text)}`);
}

function timeOf(drives: EraseDocument['drives'], name: string): string {
  const drive = drives.find((each) => each.name === name);
  return drive ? `; ${drive.erased_at}` : '';
}
