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

export function netbootCommand(environment: NetbootEnvironment): ExtraCommand {
  return {
    name: 'netboot',
    description: 'Network boot: how machines find the server',
    options: [],
    run: async () => {
      environment.writeErr(
        `${environment.program}: missing command: ${environment.program} netboot config\n`,
      );
      return WRONG_USE;
    },
    subcommands: [
      {
        name: 'config',
        description: 'Print a dnsmasq configuration for this site',
        options: [
          {
            flags: '--url <url>',
            description: 'the URL of the server for machines, such as http://192.0.2.10:8080',
          },
          {
            flags: '--mode <mode>',
            description:
              'full: dnsmasq is the DHCP server; proxy: the network has one already (default full)',
          },
          {
            flags: '--interface <name>',
            description: 'the network interface towards the machines (default eth0)',
          },
          {
            flags: '--range <range>',
            description:
              "full: first,last[,netmask][,lease]; proxy: the network's address (default: that of the interface)",
          },
          {
            flags: '--tftp-root <dir>',
            description: 'the folder with iPXE, for machines without it (default /srv/tftp)',
          },
        ],
        helpAfter: `
Prints the configuration to stdout, with comments, and changes nothing. It serves BIOS and UEFI machines by TFTP, and UEFI
machines also over HTTP, on x86-64 and ARM64.`,
        run: (options) => printConfiguration(environment, options),
      },
    ],
  };
}

async function printConfiguration(
  environment: NetbootEnvironment,
  options: Readonly<Record<string, unknown>>,
): Promise<number> {
  const optionOf = (name: string) => (typeof options[name] === 'string' ? options[name] : undefined);
  try {
    const mode = optionOf('mode') ?? 'full';
    const url = optionOf('url');
    if (url === undefined)
      throw new NetbootError(
        '--url is missing: the URL of the server for machines, such as http://192.0.2.10:8080',
      );
    const name = optionOf('interface') ?? 'eth0';
    const range = optionOf('range') ?? (mode === 'proxy' ? networkOf(name) : undefined);
    if (range === undefined)
      throw new NetbootError(
        mode === 'proxy'
          ? `--range is missing: the address of the network; this host has no IPv4 address on ${JSON.stringify(name)}`
          : '--range is missing: the addresses for machines, such as 192.0.2.100,192.0.2.199,255.255.255.0,1h',
      );
    const tftpRoot = optionOf('tftpRoot') ?? '/srv/tftp';
    environment.writeOut(dnsmasqConfiguration({ mode, interface: name, range, url, tftpRoot }));
    return 0;
  } catch (error) {
    if (!(error instanceof NetbootError)) throw error;
    environment.writeErr(`${environment.program}: ${error.message}\n`);
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
