/** The BMC itself: its certificate, its password, its log, its restart. */

import { timestampDate } from '@bufbuild/protobuf/wkt';
import { Command } from 'commander';
import { fingerprintOf } from '../../../domain/hardware/bmc-certificate.ts';
import { type BmcCertificate, BmcCertificateSchema } from '../../../gen/baremetal/fleet/v1/bmc_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { Declined, UsageError } from '../../errors/usage-error.ts';
import { confirm } from '../../input/confirm.ts';
import { addExamples, addOutput } from '../../input/options.ts';
import { jsonOf, type OutputFormat, type Rendering, writeOne } from '../../output/format.ts';
import { padEnd, plainText } from '../../output/plain-text.ts';
import { workflowCommand } from '../workflows/workflow-command.ts';

export function bmcGroup(context: CommandContext): Command {
  return new Command('bmc')
    .description("A machine's BMC itself: its certificate, its password, its log, its restart")
    .addCommand(trustBmc(context))
    .addCommand(rotatePassword(context))
    .addCommand(resetBmc(context))
    .addCommand(clearLog(context));
}

const CERTIFICATES: Rendering<BmcCertificate> = {
  json: (certificate) => jsonOf(BmcCertificateSchema, certificate),
  name: ({ machineId }) => machineId,
  columns: [],
  wideColumns: [],
};

interface TrustOptions {
  readonly output: OutputFormat;
  readonly fingerprint?: string;
  readonly yes?: true;
  readonly reason?: string;
}

const TRUST_HELP = `
Shows the certificate of the BMC and asks whether it is the right one: compare its fingerprint with what the BMC shows on site. A BMC with a
pinned certificate is reached with this one only. With --fingerprint nothing is asked: it is pinned if the BMC shows it, and refused otherwise.`;

function trustBmc(context: CommandContext): Command {
  const command = new Command('trust')
    .description("Pin the certificate of a machine's BMC, after a look at it")
    .argument('<machine-id>')
    .option('--fingerprint <sha256>', 'the SHA-256 that it must have; colons allowed')
    .option('-y, --yes', 'do not ask: trust what the BMC shows now')
    .option('--reason <text>', 'the reason, kept in the history')
    .addHelpText('after', TRUST_HELP);
  addExamples(command, context.program, ['bmc trust web-7', 'bmc trust web-7 --fingerprint 3F:A2:…']);
  return addOutput(command).action(
    context.action<TrustOptions>(async ({ args: [machineId = ''], options, api }) => {
      const { fingerprint, reason = '', output } = options;
      const wanted = fingerprint === undefined ? undefined : fingerprintOf(fingerprint);
      if (wanted === null) throw new UsageError('--fingerprint is not a SHA-256 of 64 hexadecimal digits');
      const shown = await api.bmc.getBmcCertificate({ machineId });
      for (const line of linesOf(shown)) context.err.line(line);
      if (wanted !== undefined && wanted !== shown.sha256)
        throw new Declined(`the BMC shows another certificate than ${wanted}: nothing was done`);
      if (shown.pinnedSha256 !== shown.sha256 && wanted === undefined && options.yes !== true)
        await confirm(context, `Trust this certificate for ${plainText(shown.machineId)}?`);
      const trusted = await api.bmc.trustBmcCertificate({ machineId, sha256: shown.sha256, reason });
      writeOne(context.out, output, CERTIFICATES, trusted, () =>
        context.out.line(`${plainText(trusted.machineId)}: pinned ${trusted.pinnedSha256}`),
      );
      return 'ok';
    }),
  );
}

const WIDTH = 13;

function linesOf(certificate: BmcCertificate): string[] {
  const { sha256, subject, issuer, validFrom, validTo, verified, pinnedSha256 } = certificate;
  const day = (at: BmcCertificate['validTo']) => (at ? timestampDate(at).toISOString().slice(0, 10) : '');
  const lines: [string, string][] = [
    ['Subject', subject],
    ['Issuer', issuer === subject ? `${issuer} (signed by itself)` : issuer],
    ['Valid', `${day(validFrom)} to ${day(validTo)}`],
    ['SHA-256', (sha256.match(/../g) ?? []).join(':').toUpperCase()],
    ['Authority', verified ? 'verified by a trusted one' : 'not verified by a trusted one'],
    [
      'Pinned',
      pinnedSha256 === '' ? 'none' : pinnedSha256 === sha256 ? 'this one' : `ANOTHER ONE: ${pinnedSha256}`,
    ],
  ];
  return lines.map(([label, text]) => `${padEnd(`${label}:`, WIDTH)}${plainText(text)}`);
}

const ROTATE_HELP = `
Replaces the password of the account that Ingot uses: a new one is kept beside the old one, then the BMC is changed, then a login with the new
one succeeds, and only then it takes the place of the old one. It needs a password that Ingot can replace: a file, a directory of files or a
Vault. An environment variable is refused, and so is a password that several machines share.`;

function rotatePassword(context: CommandContext): Command {
  return workflowCommand(context, {
    name: 'rotate-password',
    typed: 'bmc rotate-password',
    description: 'Replace the password of the BMC, on the BMC and where it is kept (admin)',
    isDestructive: false,
    timeout: '30m',
    more: (command) => command.addHelpText('after', ROTATE_HELP),
    start: (api, { machineId, requestId, reason }) =>
      api.bmc.rotateBmcPassword({ machineId, requestId, reason }),
    same: () => '',
  });
}

function resetBmc(context: CommandContext): Command {
  return workflowCommand(context, {
    name: 'reset',
    typed: 'bmc reset',
    description: 'Restart the BMC, and wait until it answers again; its machine goes on',
    isDestructive: false,
    timeout: '30m',
    start: (api, { machineId, requestId, reason }) => api.bmc.resetBmc({ machineId, requestId, reason }),
    same: () => '',
  });
}

function clearLog(context: CommandContext): Command {
  return workflowCommand(context, {
    name: 'clear-log',
    typed: 'bmc clear-log',
    description: 'Clear the log of hardware events that the BMC keeps (admin); its entries are lost',
    isDestructive: true,
    confirmsName: true,
    timeout: '30m',
    start: (api, { machineId, requestId, reason }) => api.bmc.clearBmcLog({ machineId, requestId, reason }),
    same: () => '',
  });
}
