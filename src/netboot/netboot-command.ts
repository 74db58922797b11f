/** The command `netboot config`, as data. */
import { networkInterfaces } from 'node:os';
import type { ExtraCommand } from '../cli/command-tree.ts';
import { dnsmasqConfiguration } from './dnsmasq-configuration.ts';
import { NetbootError } from './netboot-error.ts';

export interface NetbootEnvironment {
  readonly program: string;
  readonly writeOut: (text: string) => void;
  readonly writeErr: (text: string) => void;
}

const WRONG_USE = 64;

export function netbootCommand(around: NetbootEnvironment): ExtraCommand {
  return {
    name: 'netboot',
    description: 'How machines find the server when they boot over the network',
    options: [],
    run: async () => {
      around.writeErr(`${around.program}: say what to do: ${around.program} netboot config\n`);
      return WRONG_USE;
    },
    subcommands: [
      {
        name: 'config',
        description: 'Print a configuration of dnsmasq for this site',
        options: [
          {
            flags: '--url <url>',
            description: 'where machines reach the server, such as http://192.0.2.10:8080',
          },
          {
            flags: '--mode <mode>',
            description: 'full: dnsmasq is the DHCP server; proxy: there is one (default full)',
          },
          {
            flags: '--interface <name>',
            description: 'the interface that machines are behind (default eth0)',
          },
          {
            flags: '--range <range>',
            description:
              'full: first,last[,netmask][,lease]; proxy: the network’s address (default: the interface’s)',
          },
          {
            flags: '--tftp-root <dir>',
            description: 'where iPXE lies for machines without it (default /srv/tftp)',
          },
        ],
        helpAfter: `
Changes nothing: the configuration is on stdout, with comments. BIOS and UEFI machines are served
alike, by TFTP and, with UEFI, over HTTP, on x86-64 and ARM64.`,
        run: (options) => printConfiguration(around, options),
      },
    ],
  };
}

async function printConfiguration(
  around: NetbootEnvironment,
  options: Readonly<Record<string, unknown>>,
): Promise<number> {
  const said = (name: string) => (typeof options[name] === 'string' ? options[name] : undefined);
  try {
    const mode = said('mode') ?? 'full';
    const url = said('url');
    if (url === undefined)
      throw new NetbootError(
        '--url is missing: where machines reach the server, such as http://192.0.2.10:8080',
      );
    const name = said('interface') ?? 'eth0';
    const range = said('range') ?? (mode === 'proxy' ? networkOf(name) : undefined);
    if (range === undefined)
      throw new NetbootError(
        mode === 'proxy'
          ? `--range is missing: the address of the network, for this host has no IPv4 address on ${JSON.stringify(name)}`
          : '--range is missing: the addresses for machines, such as 192.0.2.100,192.0.2.199,255.255.255.0,1h',
      );
    const tftpRoot = said('tftpRoot') ?? '/srv/tftp';
    around.writeOut(dnsmasqConfiguration({ mode, interface: name, range, url, tftpRoot }));
    return 0;
  } catch (error) {
    if (!(error instanceof NetbootError)) throw error;
    around.writeErr(`${around.program}: ${error.message}\n`);
    return WRONG_USE;
  }
}

function networkOf(name: string): string | undefined {
  const found = networkInterfaces()[name]?.find(({ family }) => family === 'IPv4');
  if (found === undefined) return undefined;
  const mask = found.netmask.split('.').map(Number);
  return found.address
    .split('.')
    .map((part, index) => Number(part) & (mask[index] ?? 255))
    .join('.');
}
