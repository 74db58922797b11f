import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { needs } from '../../test/parts/debian-packages.ts';
import { type DnsmasqOptions, dnsmasqConfiguration } from './dnsmasq-configuration.ts';

const FULL: DnsmasqOptions = {
  mode: 'full',
  interface: 'eth0',
  range: '192.0.2.100,192.0.2.199,255.255.255.0,1h',
  url: 'http://192.0.2.10:8080',
  tftpRoot: '/srv/tftp',
};
const PROXY: DnsmasqOptions = { ...FULL, mode: 'proxy', range: '192.0.2.0' };

const directives = (options: DnsmasqOptions) =>
  dnsmasqConfiguration(options)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));

describe('the configuration for dnsmasq', () => {
  it('sends iPXE to the script, and firmware to the iPXE of its kind', () => {
    const lines = directives(FULL);
    expect(lines).toContain('dhcp-match=set:ipxe,175');
    expect(lines).toContain(
      // biome-ignore lint/suspicious/noTemplateCurlyInString: iPXE's variables
      'dhcp-boot=tag:ipxe,http://192.0.2.10:8080/api/v1/boot?mac=${netX/mac:hexhyp}&arch=${buildarch}&platform=${platform}',
    );
    expect(lines).toContain('dhcp-boot=tag:!ipxe,tag:uefi,snponly.efi');
    expect(lines).toContain('dhcp-boot=tag:!ipxe,tag:arm64,snponly-arm64.efi');
    expect(lines).toContain('dhcp-boot=tag:!ipxe,tag:uefi-http,http://192.0.2.10:8080/boot/boot.efi');
  });

  it('gives no addresses as a proxy, and names boot files the way that a proxy can', () => {
    const lines = directives(PROXY);
    expect(lines.filter((line) => line.startsWith('dhcp-range'))).toEqual(['dhcp-range=192.0.2.0,proxy']);
    expect(lines.filter((line) => line.startsWith('pxe-service'))).toHaveLength(5);
  });

  it('ends the address of the script with a dot, where it would have none', () => {
    const lines = directives({ ...PROXY, url: 'http://boothost' });
    expect(lines.filter((line) => line.includes('/api/v1/boot')).every((line) => line.endsWith('&_=.'))).toBe(
      true,
    );
  });

  it('takes ranges without a netmask or without a lease', () => {
    for (const range of [
      '192.0.2.1,192.0.2.9',
      '192.0.2.1,192.0.2.9,12h',
      '192.0.2.1,192.0.2.9,255.255.255.0',
    ])
      expect(directives({ ...FULL, range })).toContain(`dhcp-range=${range}`);
  });

  const refused: readonly [keyof DnsmasqOptions, string][] = [
    ['mode', 'half'],
    ['interface', ''],
    ['interface', 'eth0\ndhcp-script=/bin/sh'],
    ['interface', 'eth0,eth1'],
    ['range', '192.0.2.1'],
    ['range', '192.0.2.9,192.0.2.1'],
    ['range', '192.0.2.1,192.0.2.9,1h,set:x'],
    ['range', '192.0.2.1,192.0.2.9,255.255.255.0,1h\nlog-facility=/etc/passwd'],
    ['url', 'ftp://192.0.2.10'],
    ['url', 'http://192.0.2.10:8080,192.0.2.66'],
    ['url', 'http://192.0.2.10/\ndhcp-script=/bin/sh'],
    ['url', 'http://user:secret@192.0.2.10'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: iPXE's variable
    ['url', 'http://${next-server}'],
    ['url', 'http://127.0.0.1:8080'],
    ['url', 'http://[::]:8080'],
    ['url', `http://${'a'.repeat(60)}.example`],
    ['tftpRoot', 'tftp'],
    ['tftpRoot', '/srv/tftp,eth1'],
    ['tftpRoot', '/srv/tftp\nconf-file=/tmp/x'],
  ];
  it.each(refused)('refuses a %s like %j', (field, value) => {
    expect(() => dnsmasqConfiguration({ ...FULL, [field]: value })).toThrow(/^--/);
  });

  const programs = needs('dnsmasq');
  it.skipIf(programs.isMissing).each([FULL, PROXY])(
    programs.title('is one that dnsmasq understands, in mode $mode'),
    (options) => {
      const dir = mkdtempSync(join(tmpdir(), 'ingot-dnsmasq-'));
      try {
        const file = join(dir, 'dnsmasq.conf');
        // What is commented out must be right as well.
        const text = dnsmasqConfiguration(options);
        writeFileSync(file, text.replace(/^#(?=[a-z-]+(=|$))/gm, ''));
        const { stderr } = spawnSync('dnsmasq', ['--test', '-C', file], { encoding: 'utf8' });
        expect(stderr).toContain('syntax check OK');
      } finally {
        rmSync(dir, { recursive: true, force: true });
      }
    },
  );
});
