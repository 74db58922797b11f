/** The commands `tls init`, `tls server` and `tls client`, as data. */

import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { relative, resolve } from 'node:path';
import type { ExtraCommand } from '../cli/command-tree.ts';
import {
  CertificateError,
  type CertificateFiles,
  createAuthority,
  createCertificate,
  type TryOutClock,
} from './try-out.ts';

export interface TlsEnvironment {
  readonly program: string;
  readonly cwd: string;
  /** The server's data directory. */
  readonly dataDir: () => string;
  readonly now: () => number;
  readonly writeOut: (text: string) => void;
  readonly writeErr: (text: string) => void;
}

type Options = Readonly<Record<string, unknown>>;

const WRONG_USE = 64;
const DEFAULT_DAYS = 365;
const LONGEST_DAYS = 3650;
const OWN_NAMES = ['localhost', '127.0.0.1', '::1'] as const;
const FILE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
const DNS_NAME = /^(?:\*\.)?[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$/;
const URI = /^[a-z][a-z0-9+.-]*:\/\/[\x21-\x7e]{1,2000}$/;

const DAYS = {
  flags: '--days <n>',
  description: `how long they are valid (default ${DEFAULT_DAYS})`,
} as const;
const DIR = {
  flags: '--dir <path>',
  description: 'the directory of "tls init" (default tls in the data directory)',
} as const;

export function tlsCommand(environment: TlsEnvironment): ExtraCommand {
  const { program } = environment;
  return {
    name: 'tls',
    description: 'Certificates for trying TLS out: a small CA, and what it signs',
    options: [],
    run: async () => {
      environment.writeErr(`${program}: missing command: ${program} tls init\n`);
      return WRONG_USE;
    },
    subcommands: [
      {
        name: 'init',
        arguments: '[dir]',
        description: 'Make a CA, a certificate for the server and one for a client',
        options: [
          {
            flags: '--host <name>',
            description: 'another name or address of the server; may be repeated',
            repeatable: true,
          },
          DAYS,
          DIR,
        ],
        helpAfter: `
The server's certificate is for localhost, 127.0.0.1, ::1, the name of this host, and every --host. The client's has the names
client and spiffe://ingot/client. Keys are readable for their owner only. Files that exist are never overwritten.`,
        run: (options, args) => reporting(environment, () => init(environment, options, args)),
      },
      signingCommand(environment, 'server', '--host'),
      signingCommand(environment, 'client', '--san'),
    ],
  };
}

function signingCommand(
  environment: TlsEnvironment,
  purpose: 'server' | 'client',
  flag: '--host' | '--san',
): ExtraCommand {
  const namesMeaning =
    purpose === 'server'
      ? `a name or address of the server; may be repeated (default ${OWN_NAMES.join(', ')} and this host)`
      : 'a DNS name or URI of the client, such as spiffe://acme/ops; may be repeated (default: its name)';
  return {
    name: purpose,
    arguments: '<name>',
    description: `Make another certificate for a ${purpose}, signed by the CA of "tls init"`,
    options: [{ flags: `${flag} <name>`, description: namesMeaning, repeatable: true }, DAYS, DIR],
    run: (options, [name = '']) =>
      reporting(environment, () => {
        const dir = directoryOf(environment, options, undefined);
        if (!FILE_NAME.test(name))
          throw new CertificateError(`"${name}" is not a name of 1 to 63 letters, digits, ".", "_" or "-"`);
        const given = namesOf(options, flag);
        const names = given.length > 0 ? given : purpose === 'server' ? serverNames([]) : [name];
        const files = createCertificate(dir, { name, names, purpose }, clockOf(environment, options));
        environment.writeOut(`${linesOf(environment, [[files, names.join(', ')]]).join('\n')}\n`);
      }),
  };
}

function init(environment: TlsEnvironment, options: Options, [given]: readonly string[]): void {
  const { program } = environment;
  const dir = directoryOf(environment, options, given);
  const names = serverNames(namesOf(options, '--host'));
  const clock = clockOf(environment, options);
  const authority = createAuthority(dir, clock);
  const server = createCertificate(dir, { name: 'server', names, purpose: 'server' }, clock);
  const clientNames = ['client', 'spiffe://ingot/client'];
  const client = createCertificate(dir, { name: 'client', names: clientNames, purpose: 'client' }, clock);
  const shown = (file: string) => shownPath(environment, file);
  environment.writeOut(
    `${[
      `Made a CA and certificates for trying TLS out, valid for ${clock.days} days:`,
      ...linesOf(environment, [
        [authority, 'the CA: clients trust the certificate; the key signs others'],
        [server, names.join(', ')],
        [client, clientNames.join(', ')],
      ]),
      'Try next:',
      `  bin/${program} serve --tls-cert-file ${shown(server.cert)} --tls-key-file ${shown(server.key)} --tls-client-ca-file ${shown(authority.cert)}`,
      `  INGOT_CA_FILE=${shown(authority.cert)} bin/${program} overview`,
    ].join('\n')}\n`,
  );
}

function linesOf(
  environment: TlsEnvironment,
  made: ReadonlyArray<readonly [CertificateFiles, string]>,
): string[] {
  return made.map(
    ([{ cert, key }, meaning]) =>
      `  ${shownPath(environment, cert)}  ${shownPath(environment, key)}  ${meaning}`,
  );
}

function shownPath({ cwd }: TlsEnvironment, file: string): string {
  const short = relative(cwd, file);
  return short.startsWith('..') ? file : short;
}

function directoryOf(environment: TlsEnvironment, options: Options, given: string | undefined): string {
  const dir = given ?? (typeof options.dir === 'string' ? options.dir : undefined);
  return dir === undefined ? resolve(environment.dataDir(), 'tls') : resolve(environment.cwd, dir);
}

function serverNames(more: readonly string[]): string[] {
  const own = DNS_NAME.test(hostname()) ? [hostname()] : [];
  return [...new Set([...OWN_NAMES, ...own, ...more])];
}

function namesOf(options: Options, flag: '--host' | '--san'): string[] {
  const given = options[flag.slice(2)];
  const names = Array.isArray(given) ? given.map(String) : [];
  for (const name of names) {
    const isUri = flag === '--san' && URI.test(name);
    if (!isUri && isIP(name) === 0 && !DNS_NAME.test(name))
      throw new CertificateError(
        `${flag}: ${JSON.stringify(name)} is not a DNS name${flag === '--san' ? ', a URI' : ''} or an IP address`,
      );
  }
  return names;
}

function clockOf({ now }: TlsEnvironment, options: Options): TryOutClock {
  const text = typeof options.days === 'string' ? options.days : String(DEFAULT_DAYS);
  const days = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (days < 1 || days > LONGEST_DAYS)
    throw new CertificateError(
      `--days: ${JSON.stringify(text)} is not a whole number from 1 to ${LONGEST_DAYS}`,
    );
  return { now, days };
}

async function reporting({ program, writeErr }: TlsEnvironment, run: () => void): Promise<number> {
  try {
    run();
    return 0;
  } catch (error) {
    if (!(error instanceof CertificateError)) throw error;
    writeErr(`${program}: ${error.message}\n`);
    return WRONG_USE;
  }
}
