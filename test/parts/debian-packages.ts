/**
 * Programs of Debian that tests drive and that npm has no package for: the only list of what the tests install.
 * `scripts/install-test-packages.ts` prints it and installs what is missing, before the first test.
 */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export interface Requirement {
  readonly packages: readonly string[];
  /** Names on the PATH, or absolute paths. All must be there; of a list, one. */
  readonly files: ReadonlyArray<string | readonly string[]>;
  readonly purpose: string;
  /** The beginnings of the paths of tests that need it. */
  readonly tests: readonly string[];
  /** Whether a run installs it only when its tests are named. */
  readonly when: 'always' | 'named';
}

const SHELL = 'busybox-static';

export const REQUIREMENTS = {
  redis: {
    packages: ['redis-server', 'redis-tools'],
    files: ['redis-server', 'redis-cli'],
    purpose: 'keepalives in Redis',
    tests: ['test/agents/', 'test/fleet/metrics', 'src/store/agents/redis-keepalives'],
    when: 'always',
  },
  sshd: {
    packages: ['openssh-server'],
    files: ['/usr/sbin/sshd', 'ssh-keygen'],
    purpose: 'hosts that take commands',
    tests: [
      'test/datacenter/',
      'test/advice/',
      'test/api/allowed-networks',
      'test/maas/remote-exec',
      'test/providers/',
    ],
    when: 'always',
  },
  ipmi: {
    packages: ['openipmi', 'ipmitool'],
    files: ['ipmi_sim', 'ipmitool'],
    purpose: 'BMCs',
    tests: [
      'test/datacenter/',
      'test/bmc/ipmi-verbs',
      'test/advice/bmc',
      'test/nodes/erasure',
      'test/netboot/',
      'test/providers/',
      'test/serial-console/',
    ],
    when: 'always',
  },
  sushy: {
    packages: ['python3-sushy'],
    files: ['/usr/bin/python3', '/usr/lib/python3/dist-packages/sushy/__init__.py'],
    purpose: 'a Redfish client that we did not write',
    tests: ['test/datacenter/redfish-sushy'],
    when: 'always',
  },
  flask: {
    packages: [
      'python3-flask',
      'python3-tenacity',
      'python3-bcrypt',
      'python3-webob',
      'python3-requests',
      'python3-pbr',
    ],
    files: [
      '/usr/bin/python3',
      ...['flask', 'tenacity', 'bcrypt', 'webob', 'requests', 'pbr'].map(
        (name) => `/usr/lib/python3/dist-packages/${name}/__init__.py`,
      ),
    ],
    purpose: 'the Redfish emulator of sushy-tools, whose sources INGOT_SUSHY_TOOLS names',
    tests: ['test/datacenter/sushy-tools'],
    when: 'named',
  },
  qemu: {
    packages: ['qemu-system-x86', 'qemu-utils', 'seabios', 'ipxe-qemu', SHELL],
    files: [
      'qemu-system-x86_64',
      'qemu-img',
      'busybox',
      '/usr/share/seabios/bios-256k.bin',
      '/usr/lib/ipxe/qemu/pxe-virtio.rom',
    ],
    purpose: 'machines that boot from the network',
    tests: ['test/netboot/', 'test/serial-console/qemu'],
    when: 'always',
  },
  uefi: {
    packages: ['ovmf', 'systemd-boot-efi', 'qemu-block-extra'],
    files: [
      '/usr/share/OVMF/OVMF_CODE.fd',
      '/usr/lib/systemd/boot/efi/linuxx64.efi.stub',
      '/usr/lib/x86_64-linux-gnu/qemu/block-curl.so',
    ],
    purpose: 'a UEFI firmware that boots by HTTP and from discs',
    tests: ['test/netboot/http-boot', 'test/netboot/redfish-boot'],
    when: 'named',
  },
  discs: {
    packages: ['xorriso'],
    files: ['xorriso'],
    purpose: 'a reader of discs that we did not write',
    tests: ['test/netboot/disc-tools'],
    when: 'always',
  },
  bootImages: {
    packages: ['syslinux', 'mtools', SHELL],
    files: ['syslinux', 'mformat', '/bin/busybox'],
    purpose: 'disk images for those machines',
    tests: ['test/netboot/', 'test/serial-console/qemu'],
    when: 'always',
  },
  busybox: {
    packages: [SHELL],
    files: ['busybox'],
    purpose: 'the shell of the installer',
    tests: ['src/installer/', 'test/netboot/seed'],
    when: 'always',
  },
  dnsmasq: {
    packages: ['dnsmasq-base', 'iproute2'],
    files: [['dnsmasq', '/usr/sbin/dnsmasq'], 'ip'],
    purpose: 'DHCP for network boots',
    tests: ['test/netboot/dhcp', 'src/netboot/'],
    when: 'always',
  },
  chromium: {
    packages: ['chromium', 'fonts-dejavu-core'],
    files: [['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']],
    purpose: 'the console in a browser',
    tests: ['test/console/'],
    when: 'always',
  },
  faketime: {
    packages: ['libfaketime'],
    files: [
      ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map(
        (machine) => `/usr/lib/${machine}/faketime/libfaketime.so.1`,
      ),
    ],
    purpose: 'a PostgreSQL whose clock is set',
    tests: ['test/faults/clock'],
    when: 'always',
  },
  zsh: {
    packages: ['zsh'],
    files: ['zsh'],
    purpose: 'completion in zsh',
    tests: ['test/cli/completion'],
    when: 'named',
  },
  fish: {
    packages: ['fish'],
    files: ['fish'],
    purpose: 'completion in fish',
    tests: ['test/cli/completion'],
    when: 'named',
  },
  arm64: {
    packages: ['qemu-system-arm', 'qemu-efi-aarch64', SHELL],
    files: ['qemu-system-aarch64', 'busybox', '/usr/share/qemu-efi-aarch64/QEMU_EFI.fd'],
    purpose: 'an ARM64 machine',
    tests: ['test/netboot/arm64'],
    when: 'named',
  },
  postgresql: {
    packages: ['postgresql'],
    files: ['/usr/lib/postgresql'],
    purpose: "Debian's PostgreSQL (npm run test:postgres)",
    tests: ['debian-postgresql'],
    when: 'named',
  },
  patroni: {
    packages: ['postgresql-15', 'patroni', 'etcd-server', 'python3-etcd'],
    files: ['/usr/bin/patroni', '/usr/bin/etcd', '/usr/lib/postgresql/15/bin/postgres'],
    purpose: 'a cluster that fails over (npm run test:failover)',
    tests: ['test/faults/run'],
    when: 'named',
  },
} as const satisfies Record<string, Requirement>;

export type RequirementName = keyof typeof REQUIREMENTS;

/** The file, or the first of the alternatives, that is there. */
export function findFile(name: string | readonly string[]): string | undefined {
  const places = [name]
    .flat()
    .flatMap((file) =>
      file.startsWith('/')
        ? [file]
        : (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, file)),
    );
  return places.find((place) => existsSync(place));
}

export function isPresent({ files }: Requirement): boolean {
  return files.every((file) => findFile(file) !== undefined);
}

export interface Needed {
  readonly isMissing: boolean;
  /** What is missing and how to get it; null where nothing is. */
  readonly problem: string | null;
  /** The title of a group of tests. Where they are skipped it says why, and the end of the run counts them by it. */
  title(text: string): string;
}

/** For `describe.skipIf(redis.isMissing)(redis.title('…'), …)`. */
export function needs(...names: readonly RequirementName[]): Needed {
  const missing = names.map((name) => REQUIREMENTS[name]).filter((requirement) => !isPresent(requirement));
  const packages = [...new Set(missing.flatMap((requirement) => requirement.packages))].join(' ');
  const isMissing = missing.length > 0;
  return {
    isMissing,
    problem: isMissing ? `missing: apt-get install ${packages}` : null,
    title: (text) => (isMissing ? skippedTitle(text, packages) : text),
  };
}

/** For what can be missing for other reasons, too. */
export function titleWith(text: string, problem: string | null): string {
  return problem === null ? text : skippedTitle(text, problem.replace(/^missing: apt-get install /, ''));
}

export function skippedTitle(text: string, packages: string): string {
  return `${text} [needs ${packages}]`;
}

/** The packages that a skipped test's full name says it needs. */
export function neededPackages(fullName: string): string | undefined {
  return /\[needs ([^\]]+)\]/.exec(fullName)?.[1];
}
