/** How the installer inspects disks and hardware, with busybox's shell on a made-up /sys. */
import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needs } from '../../../test/parts/debian-packages.ts';

const programs = needs('busybox');
const scripts = fileURLToPath(new URL('.', import.meta.url));

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'ingot-sysfs-'));
  addDisk('sda', 'devices/pci0/ata1/host0/target0', {
    size: '2000',
    'device/model': 'Samsung SSD 860 ',
    'device/vpd_pg80': '\0\x80\0\x08 S3Z8 "1"',
    'queue/rotational': '0',
  });
  addDisk('sdb', 'devices/pci0/usb1/1-1/host1', { size: '1000', removable: '1', 'device/model': 'Stick' });
  addDisk('nvme0n1', 'devices/pci0/nvme/nvme0', {
    size: '8000',
    'device/model': 'NVMe Fast',
    'device/serial': 'NV1 ',
  });
  addDisk('vda', 'devices/pci0/virtio0', { size: '4000', serial: 'V1' });
  addDisk('sr0', 'devices/pci0/ata2/host2', { size: '100', removable: '1' });
  addDisk('vdb', 'devices/pci0/virtio1', { size: '500', ro: '1' });
  addDisk('vdc', 'devices/pci0/virtio2', { size: '0' });
  add('class/net/eth0/address', '52:54:00:00:00:01');
  add('class/net/eth0/speed', '25000');
  add('class/net/eth0/carrier', '1');
  link('class/net/eth0/device', 'devices/0000:3b:00.0');
  link('devices/0000:3b:00.0/driver', 'bus/pci/drivers/mlx5_core');
  add('class/net/lo/address', '00:00:00:00:00:00');
  add('class/net/eth1/address', '52:54:00:00:00:02');
  add('class/net/eth1/speed', '-1');
  link('class/net/eth1/device', 'devices/virtio9');
  add('bus/pci/devices/0000:01:00.0/class', '0x030200');
  add('bus/pci/devices/0000:01:00.0/vendor', '0x10de');
  add('bus/pci/devices/0000:01:00.0/device', '0x2330');
  add('bus/pci/devices/0000:02:00.0/class', '0x020000');
  add('class/dmi/id/sys_vendor', 'Dell Inc.');
  add('class/dmi/id/product_name', 'Power\\Edge "R760"');
  for (const [cpu, socket, core] of [
    [0, 0, 0],
    [1, 0, 0],
    [2, 1, 0],
    [3, 1, 0],
  ]) {
    add(`devices/system/cpu/cpu${cpu}/topology/physical_package_id`, String(socket));
    add(`devices/system/cpu/cpu${cpu}/topology/core_id`, String(core));
  }
  add('firmware/dmi/entries/17-0/raw', memoryModule({ mebibytes: 0x7fff, large: 65_536 }));
  add('firmware/dmi/entries/17-1/raw', memoryModule({ mebibytes: 0 }));
  add('firmware/dmi/entries/17-2/raw', memoryModule({ mebibytes: 16_384 }));
  add(
    'proc/cpuinfo',
    'processor\t: 0\nmodel name\t: Fast CPU\n\nprocessor\t: 1\nprocessor\t: 2\nprocessor\t: 3\n',
  );
  add('proc/meminfo', 'MemTotal:        1000 kB\n');
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function add(path: string, content: string | Buffer): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), typeof content === 'string' ? Buffer.from(content, 'latin1') : content);
}

function link(path: string, to: string): void {
  mkdirSync(join(root, to), { recursive: true });
  mkdirSync(dirname(join(root, path)), { recursive: true });
  symlinkSync(join(root, to), join(root, path));
}

function addDisk(name: string, device: string, files: Readonly<Record<string, string>>): void {
  for (const [file, text] of Object.entries({ ro: '0', removable: '0', ...files }))
    add(`${device}/block/${name}/${file}`, text);
  link(`block/${name}`, `${device}/block/${name}`);
}

/** A record of type 17: sizes in MiB, strings behind it. */
function memoryModule({ mebibytes, large = 0 }: { mebibytes: number; large?: number }): Buffer {
  const record = Buffer.alloc(34);
  record.set([17, 34]);
  record.writeUInt16LE(mebibytes, 12);
  record.set([1], 16);
  record.writeUInt16LE(4800, 21);
  record.set([2, 3, 0, 4], 23);
  record.writeUInt32LE(large, 28);
  return Buffer.concat([record, Buffer.from('DIMM A1\0Micron\0SER1\0PART-9 \0\0')]);
}

function run(commands: string): string {
  const { stdout, stderr, status } = spawnSync(
    'busybox',
    [
      'sh',
      '-c',
      `set -o pipefail
       SYSFS='${root}' PROCFS='${root}/proc' mac='' inventory='' disk_usb=no
       for part in ${['disk', 'network', 'report', 'inventory', 'parameters'].map((name) => `'${scripts}${name}.sh'`).join(' ')}; do . "$part"; done
       set -f
       is_device() { true; }
       say() { echo "said: $*" >&2; }
       fail() { echo "failed: $1"; exit 1; }
       word() { disk_rule_pick=first; disk_rule_model=''; disk_rule_serial=''; disk_rule_min=''; disk_rule_max=''; wanted_disk=''; }
       choose() { found_disks=$(disks); choose_disk; echo "$disk"; }
       word
       ${commands}`,
    ],
    { encoding: 'utf8' },
  );
  if (status !== 0 && !stdout.startsWith('failed')) throw new Error(stderr);
  return stdout.trim();
}

describe.skipIf(programs.isMissing)(programs.title('the installer’s inspection of disks'), () => {
  it('finds those that can be written to, and none on USB', () => {
    expect(run('disks').split('\n')).toEqual(['vda', 'sda', 'nvme0n1']);
    expect(run('disk_usb=yes; disks').split('\n')).toEqual(['vda', 'sda', 'sdb', 'nvme0n1']);
  });

  it.each([
    ['true', 'vda'],
    ['disk_rule_pick=smallest', 'sda'],
    ['disk_rule_pick=largest', 'nvme0n1'],
    ['disk_rule_pick=smallest; disk_usb=yes', 'sdb'],
    ['disk_rule_pick=smallest; disk_rule_min=1024001', 'vda'],
    ['disk_rule_pick=largest; disk_rule_max=2048000', 'vda'],
    ["disk_rule_model=$(decoded 'samsung%20ssd*')", 'sda'],
    ["disk_rule_serial=$(decoded '%53?Z8%20%22*')", 'sda'],
    ["disk_rule_serial='nv1'", 'nvme0n1'],
    ["wanted_disk='sda'", 'sda'],
  ])('by %s it takes %s', (rule, name) => {
    expect(run(`${rule}; choose`)).toBe(name);
  });

  it('names what is there when nothing fits', () => {
    expect(run("disk_rule_model='Intel*'; disk_rule_min=1; choose")).toBe(
      'failed: no disk is what the workflow asks for (model Intel*, at least 1 bytes); there are: vda (1 MiB, serial V1), sda (0 MiB, model Samsung SSD 860, serial S3Z8 "1"), nvme0n1 (3 MiB, model NVMe Fast, serial NV1)',
    );
  });
});

it.skipIf(programs.isMissing)(
  programs.title('the inventory is JSON of what the kernel and the firmware say'),
  () => {
    const inventory = JSON.parse(run('take_inventory; echo "$inventory"'));
    expect(inventory).toMatchObject({
      system: { vendor: 'Dell Inc.', model: 'Power\\Edge "R760"' },
      cpu: { model: 'Fast CPU', sockets: 2, cores: 2, threads: 4, architecture: expect.any(String) },
      gpus: [{ pci_address: '0000:01:00.0', vendor_id: '10de', device_id: '2330' }],
    });
    const module = {
      slot: 'DIMM A1',
      speed_mts: 4800,
      manufacturer: 'Micron',
      serial_number: 'SER1',
      part_number: 'PART-9',
    };
    expect(inventory.memory).toEqual({
      total_bytes: 1_024_000,
      modules: [
        { ...module, size_bytes: 64 * 1024 ** 3 },
        { ...module, size_bytes: 16 * 1024 ** 3 },
      ],
    });
    expect(inventory.disks).toEqual([
      { name: 'vda', serial_number: 'V1', size_bytes: 2_048_000, transport: 'virtio', removable: false },
      { name: 'vdb', size_bytes: 256_000, transport: 'virtio', removable: false },
      {
        name: 'sda',
        model: 'Samsung SSD 860',
        serial_number: 'S3Z8 "1"',
        size_bytes: 1_024_000,
        transport: 'sata',
        rotational: false,
        removable: false,
      },
      { name: 'sdb', model: 'Stick', size_bytes: 512_000, transport: 'usb', removable: true },
      {
        name: 'nvme0n1',
        model: 'NVMe Fast',
        serial_number: 'NV1',
        size_bytes: 4_096_000,
        transport: 'nvme',
        removable: false,
      },
    ]);
    expect(inventory.nics).toEqual([
      {
        name: 'eth0',
        mac_address: '52:54:00:00:00:01',
        speed_mbps: 25_000,
        link: true,
        driver: 'mlx5_core',
        pci_address: '0000:3b:00.0',
      },
      { name: 'eth1', mac_address: '52:54:00:00:00:02' },
    ]);
  },
);

describe.skipIf(programs.isMissing)(programs.title('the words of the command line'), () => {
  const read = (words: string, commands: string) => {
    add('proc/cmdline', `BOOT_IMAGE=vmlinuz ${words}\n`);
    return run(`read_parameters "$PROCFS/cmdline"; ${commands}`);
  };

  it('are read, and a rule takes no disk away that was named', () => {
    const words = 'ingot.disk=/dev/sda ingot.disk=by-rule ingot.disk.pick=smallest ingot.seed=yes';
    expect(read(words, 'check_words; echo "$wanted_disk $disk_rule_pick $seed"')).toBe('sda smallest yes');
    expect(read('ingot.disk=by-rule', 'echo "<$wanted_disk>"')).toBe('<>');
  });

  it('that it does not know stop it, by name and without their values', () => {
    expect(read('quiet ingot.new=secret ingot.mode=erase other.word=1', 'check_words; echo on')).toBe(
      'failed: this installer does not know ingot.new: build it again with `ingot installer build`',
    );
  });
});

it.skipIf(programs.isMissing).each([
  ['percentage_used\t\t\t: 3%', 97],
  ['percentage_used                     : 140%', 0],
  ['NVMe status: Invalid Field', undefined],
])('the wear of an NVMe disk that says "%s"', (says, left) => {
  const inventory = JSON.parse(
    run(
      `timeout() { shift; "$@"; }; nvme() { echo 'critical_warning : 0'; echo '${says}'; }; inventory_disks`,
    ),
  );
  const disks = inventory as readonly { name: string; life_left_percent?: number }[];
  expect(disks.map(({ name, life_left_percent: percent }) => [name, percent])).toContainEqual([
    'nvme0n1',
    left,
  ]);
  expect(disks.find(({ name }) => name === 'sda')?.life_left_percent).toBeUndefined();
});

it('no two of the installer’s files have a function of the same name: the later would be the one', () => {
  const names = readdirSync(scripts)
    .filter((name) => name.endsWith('.sh'))
    .flatMap((name) => readFileSync(join(scripts, name), 'utf8').match(/^[a-z_0-9]+(?=\(\))/gm) ?? []);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  expect(names.length).toBeGreaterThan(50);
});
