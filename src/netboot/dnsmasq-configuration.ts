/**
 * A dnsmasq configuration that leads machines to the server's boot script. The firmware of a machine gets iPXE, by TFTP or, if
 * it boots over HTTP, from the server. iPXE, which sends DHCP option 175, gets the URL of the script. Every value is checked,
 * because an additional line or comma could be any directive.
 */
import { isIPv4 } from 'node:net';
import { IPXE_QUERY } from '../domain/install/boot/ipxe-query.ts';
import { NetbootError } from './netboot-error.ts';

export interface DnsmasqOptions {
  /** full: dnsmasq assigns addresses. proxy: another DHCP server does, and dnsmasq only adds the boot options. */
  readonly mode: string;
  readonly interface: string;
  /** full: first,last[,netmask][,lease]. proxy: the network's address. */
  readonly range: string;
  /** The URL of the server for machines. */
  readonly url: string;
  readonly tftpRoot: string;
}

const BIOS_LOADER = 'undionly.kpxe';
const UEFI_LOADER = 'snponly.efi';
const ARM64_LOADER = 'snponly-arm64.efi';
/** The maximum length of the file field of a DHCP response. */
const MAX_FILE_LENGTH = 127;
const MODES = { full: fullLines, proxy: proxyLines } as const;

interface Checked {
  readonly interface: string;
  readonly range: readonly string[];
  readonly url: string;
}

export function dnsmasqConfiguration(options: DnsmasqOptions): string {
  const { mode } = options;
  if (mode !== 'full' && mode !== 'proxy')
    throw new NetbootError(`--mode: ${quoted(mode)} is neither full nor proxy`);
  const tftpRoot = checkTftpRoot(options.tftpRoot);
  const checked: Checked = {
    interface: checkInterface(options.interface),
    range: checkRange(mode, options.range),
    url: checkUrl(options.url),
  };
  const lines = [
    `# dnsmasq for machines that boot from ${checked.url}, made by: ingot netboot config --mode ${mode}`,
    '# Check it with dnsmasq --test -C <this file>.',
    '',
    '# DHCP and TFTP only: no DNS.',
    'port=0',
    `interface=${checked.interface}`,
    'bind-interfaces',
    '',
    `# ${BIOS_LOADER} and ${UEFI_LOADER} belong there. Debian has them in the package ipxe:`,
    `#   cp /usr/lib/ipxe/${BIOS_LOADER} /usr/lib/ipxe/${UEFI_LOADER} ${tftpRoot}/`,
    `# For ARM64, ${ARM64_LOADER} belongs there as well: iPXE's make bin-arm64-efi/snponly.efi. Debian 12 has no package of it.`,
    'enable-tftp',
    `tftp-root=${tftpRoot}`,
    '',
    '# A client that sends option 175 is iPXE.',
    'dhcp-match=set:ipxe,175',
    '# The architecture that the firmware sends: 7 and 9 UEFI, 11 UEFI on ARM64; 16 and 19 are the same over HTTP.',
    'dhcp-match=set:uefi,option:client-arch,7',
    'dhcp-match=set:uefi,option:client-arch,9',
    'dhcp-match=set:arm64,option:client-arch,11',
    'dhcp-match=set:uefi-http,option:client-arch,16',
    'dhcp-match=set:arm64-http,option:client-arch,19',
    '',
    '# Firmware that boots over HTTP accepts only responses with the vendor class HTTPClient.',
    'dhcp-option-force=tag:!ipxe,tag:uefi-http,60,HTTPClient',
    'dhcp-option-force=tag:!ipxe,tag:arm64-http,60,HTTPClient',
    `dhcp-boot=tag:!ipxe,tag:uefi-http,${checked.url}/boot/boot.efi`,
    `dhcp-boot=tag:!ipxe,tag:arm64-http,${checked.url}/boot/boot-arm64.efi`,
    '',
    ...MODES[mode](checked),
  ];
  return `${lines.join('\n')}\n`;
}

function fullLines({ interface: name, range, url }: Checked): string[] {
  return [
    `dhcp-boot=tag:!ipxe,tag:!uefi,tag:!arm64,tag:!uefi-http,tag:!arm64-http,${BIOS_LOADER}`,
    `dhcp-boot=tag:!ipxe,tag:uefi,${UEFI_LOADER}`,
    `dhcp-boot=tag:!ipxe,tag:arm64,${ARM64_LOADER}`,
    `dhcp-boot=tag:ipxe,${scriptAddress(url)}`,
    '',
    '# This must be the only DHCP server of the network: otherwise use --mode proxy.',
    `dhcp-range=${range.join(',')}`,
    '# Machines get this host as their gateway and name server. To set others:',
    '#dhcp-option=option:router,192.0.2.1',
    '#dhcp-option=option:dns-server,192.0.2.53',
    '',
    '# iPXE waits 13 s for an IPv6 router advertisement if there is none. If no router sends them:',
    '#enable-ra',
    `#dhcp-range=::,constructor:${name},ra-stateless`,
    '# (this host needs an IPv6 address on that interface, such as fd00:1234::1/64)',
  ];
}

/**
 * PXE firmware sends a second request to a proxy, which pxe-service answers. Firmware that boots over HTTP, and iPXE with UEFI,
 * take the file of the first response, which dhcp-boot sets.
 */
function proxyLines({ range, url }: Checked): string[] {
  return [
    '# A proxy answers only these clients.',
    'dhcp-pxe-vendor=PXEClient,HTTPClient',
    `pxe-service=tag:!ipxe,x86PC,"iPXE",${BIOS_LOADER}`,
    `pxe-service=tag:!ipxe,BC_EFI,"iPXE",${UEFI_LOADER}`,
    `pxe-service=tag:!ipxe,X86-64_EFI,"iPXE",${UEFI_LOADER}`,
    `pxe-service=tag:!ipxe,ARM64_EFI,"iPXE",${ARM64_LOADER}`,
    `pxe-service=tag:ipxe,x86PC,"Ingot",${scriptAddress(url)}`,
    `dhcp-boot=tag:ipxe,${scriptAddress(url)}`,
    '',
    '# The existing DHCP server assigns addresses.',
    `dhcp-range=${range.join(',')},proxy`,
    '',
    "# iPXE waits 13 s for an IPv6 router advertisement if there is none: the site's router should send them.",
  ];
}

/** iPXE replaces its variables. Without a dot, dnsmasq would add a suffix. */
function scriptAddress(url: string): string {
  const address = `${url}/api/v1/boot?${IPXE_QUERY}`;
  return address.includes('.') ? address : `${address}&_=.`;
}

function checkInterface(name: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,14}$/.test(name))
    throw new NetbootError(`--interface: ${quoted(name)} is not the name of a network interface`);
  return name;
}

function checkTftpRoot(path: string): string {
  if (!/^\/[A-Za-z0-9._+@/-]*$/.test(path))
    throw new NetbootError(
      `--tftp-root: ${quoted(path)} is not an absolute path of letters, digits and . _ + @ - /`,
    );
  return path.length > 1 ? path.replace(/\/+$/, '') : path;
}

/** Only characters without a meaning in dnsmasq and iPXE: no comma, no quote, no variable. */
function checkUrl(text: string): string {
  const bad = (why: string) => new NetbootError(`--url: ${quoted(text)} ${why}`);
  if (!/^https?:\/\/[A-Za-z0-9._:[\]/-]+$/.test(text) || !URL.canParse(text))
    throw bad('is not an address such as http://192.0.2.10:8080');
  const { hostname } = new URL(text);
  if (/^(localhost|127\.|0\.0\.0\.0|\[::1?\])/.test(hostname))
    throw bad('names this host to itself: machines need the address that they reach it by');
  const url = text.replace(/\/+$/, '');
  const spare = MAX_FILE_LENGTH - scriptAddress(url).length;
  if (spare < 0) throw bad(`is ${-spare} characters too long for an answer of DHCP`);
  return url;
}

function checkRange(mode: keyof typeof MODES, text: string): string[] {
  const parts = text.split(',').map((part) => part.trim());
  const [first = '', second = '', ...rest] = parts;
  if (mode === 'proxy') {
    if (parts.length !== 1 || !isIPv4(first))
      throw new NetbootError(`--range: ${quoted(text)} is not the address of a network, such as 192.0.2.0`);
    return parts;
  }
  const [netmask, lease] = rest.length === 1 && !isIPv4(rest[0] ?? '') ? [undefined, rest[0]] : rest;
  const fits =
    rest.length <= 2 &&
    isIPv4(first) &&
    isIPv4(second) &&
    numberOf(first) <= numberOf(second) &&
    (netmask === undefined || isIPv4(netmask)) &&
    (lease === undefined || /^(\d{1,9}[mhd]?|infinite)$/.test(lease));
  if (!fits)
    throw new NetbootError(
      `--range: ${quoted(text)} is not first,last[,netmask][,lease], such as 192.0.2.100,192.0.2.199,255.255.255.0,1h`,
    );
  return parts;
}

function numberOf(address: string): number {
  return address.split('.').reduce((number, part) => number * 256 + Number(part), 0);
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
