// @module-tag extended: nodes/boot.test.ts has what is served; this has a real dnsmasq.
/** What a real dnsmasq with our configuration answers to firmware of every kind, in its own network namespace. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { IPXE_QUERY } from '../../src/domain/install/boot/ipxe-query.ts';
import { dnsmasqConfiguration } from '../../src/netboot/dnsmasq-configuration.ts';
import { needs } from '../parts/debian-packages.ts';

const URL = 'http://192.0.2.10:8080';
const SCRIPT = `${URL}/api/v1/boot?${IPXE_QUERY}`;
const RANGES = { full: '192.0.2.100,192.0.2.199,255.255.255.0,1h', proxy: '192.0.2.0' } as const;

/** What firmware says of itself, and the file that it must get. */
const FIRMWARE = [
  ['0 PXEClient:Arch:00000', 'undionly.kpxe'],
  ['7 PXEClient:Arch:00007', 'snponly.efi'],
  ['9 PXEClient:Arch:00009', 'snponly.efi'],
  ['11 PXEClient:Arch:00011', 'snponly-arm64.efi'],
  ['16 HTTPClient:Arch:00016:UNDI:003001', `${URL}/boot/boot.efi`],
  ['19 HTTPClient:Arch:00019:UNDI:003001', `${URL}/boot/boot-arm64.efi`],
  ['0 PXEClient:Arch:00000 ipxe', SCRIPT],
  ['7 PXEClient:Arch:00007 ipxe', SCRIPT],
  ['11 PXEClient:Arch:00011 ipxe', SCRIPT],
] as const;

const dir = mkdtempSync(join(tmpdir(), 'ingot-dhcp-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const programs = needs('dnsmasq');
/** Only root may make a network namespace, and not in every container. */
const hasNamespaces = spawnSync('unshare', ['-n', 'true']).status === 0;

/** dnsmasq on one end of a cable, the firmware on the other; one line of the answer for each. */
function answers(mode: keyof typeof RANGES): string[] {
  const conf = join(dir, `${mode}.conf`);
  writeFileSync(
    conf,
    dnsmasqConfiguration({ mode, interface: 'v0', range: RANGES[mode], url: URL, tftpRoot: dir }),
  );
  const client = fileURLToPath(new globalThis.URL('../parts/dhcp-discover.mjs', import.meta.url));
  const script = `
    unshare -n sleep 100 & machine=$!
    ip link add v0 type veth peer name v1
    until [ "$(readlink /proc/$machine/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.1; done
    ip link set v1 netns $machine
    ip addr add 192.0.2.10/24 dev v0; ip link set v0 up; ip link set lo up
    nsenter -t $machine -n sh -c 'ip addr add 192.0.2.2/24 dev v1; ip link set v1 up; ip route add default dev v1'
    dnsmasq -C '${conf}' -k --user=root --no-ping --dhcp-leasefile='${dir}/leases' --pid-file= --log-facility=- & server=$!
    sleep 1
    ${FIRMWARE.map(([words]) => `nsenter -t $machine -n '${process.execPath}' '${client}' ${words} || echo nothing`).join('\n')}
    kill $server $machine`;
  const { stdout } = spawnSync('unshare', ['-n', 'sh', '-c', script], { encoding: 'utf8' });
  return stdout.trim().split('\n');
}

describe.skipIf(programs.isMissing || !hasNamespaces).each(['full', 'proxy'] as const)(
  programs.title('as %s'),
  (mode) => {
    it('every firmware gets the file of its kind, and one that boots over HTTP gets HTTPClient', () => {
      const found = answers(mode).map((line) => (line === 'nothing' ? line : JSON.parse(line)));
      const expected = FIRMWARE.map(([words, file]) => {
        const answer = { file, ...(words.includes('HTTPClient') ? { vendor: 'HTTPClient' } : {}) };
        return expect.objectContaining(answer);
      });
      expect(found).toEqual(expected);
      const gave = found.map(({ address }) => address !== '0.0.0.0');
      expect(new Set(gave)).toEqual(new Set([mode === 'full']));
    }, 60_000);
  },
);
