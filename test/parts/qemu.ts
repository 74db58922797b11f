/**
 * A real machine: QEMU without acceleration, with a network card, an empty disk and a serial console in a file. It is
 * switched by hand (`powerOn`), or by a BMC: `startBmc({ machine: machine.script })`.
 *
 * Its network is QEMU's own. What it reaches there is DHCP, one TFTP file that leads on to the server's boot script, and the
 * server, as GUEST_SERVER; `restrict` keeps everything else of this host and its network from it.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { IPXE_QUERY } from '../../src/domain/install/boot/ipxe-query.ts';
import { EMPTY_VARIABLES, FIRMWARE } from './uefi-variables.ts';

/** Where the machine finds the server, whatever port that has on this host. */
export const GUEST_SERVER = 'http://10.0.2.100:8080';

/** As the machine reads them. */
export const DISK_SERIAL = 'VIRTIO-DISK-1';
export const NVME_SERIAL = 'NVME-DISK-1';

export interface QemuOptions {
  /** The port of the server on this host's loopback. */
  readonly serverPort: number;
  /** Random without it. */
  readonly mac?: string;
  readonly diskMiB?: number;
  readonly memoryMiB?: number;
  /** A card without a cable in front of the one that boots: iPXE's net0 is that one then. */
  readonly idleCard?: 'first';
  /** A second disk, behind NVMe. */
  readonly nvmeMiB?: number;
  /** A BIOS without it. Its boot options are in `variables`, a file that the test writes; `powerOn` does not choose then. */
  readonly firmware?: 'uefi';
  /** Beside the first disk, in this order. */
  readonly furtherDisks?: readonly FurtherDisk[];
}

export interface FurtherDisk {
  readonly sizeMiB: number;
  readonly kind: 'virtio' | 'scsi' | 'nvme';
  readonly serial: string;
  /** What a SCSI disk says that it is. */
  readonly model?: string;
}

export interface QemuMachine {
  readonly mac: string;
  /** The disk: a raw file, full of zeros to begin with. */
  readonly disk: string;
  /** The disk behind NVMe, a raw file; there only where it was asked for. */
  readonly nvme: string;
  /** The file of the variables of a UEFI firmware. */
  readonly variables: string;
  /** What a BMC runs while it has power: see `BmcOptions.machine`. */
  readonly script: string;
  /**
   * Switches it on. From `pxe`, every boot until it is switched off tries the network first, reboots too; from the disk,
   * none does. From a CD, every boot tries it first while it is in; its image is read from the address, in ranges, as a BMC would.
   */
  powerOn(from: 'pxe' | 'disk' | { readonly cd: string }): void;
  /** Takes the CD out of the running machine. */
  eject(): Promise<void>;
  /** Cuts the power, no matter what switched it on. */
  powerOff(): Promise<void>;
  isOn(): boolean;
  /** What the serial console has shown so far. */
  serial(): string;
  readDisk(length: number, from?: number): Buffer;
  /** Of a further disk, counted from 0. */
  readFurtherDisk(index: number, length: number): Buffer;
  /** Off, and all its files gone. */
  destroy(): Promise<void>;
}

export function createQemuMachine(options: QemuOptions): QemuMachine {
  const dir = mkdtempSync(join(tmpdir(), 'ingot-qemu-'));
  const file = (name: string) => join(dir, name);
  const mac = options.mac ?? randomMac();
  mkdirSync(file('tftp'));
  const bootUrl = `${GUEST_SERVER}/api/v1/boot?${IPXE_QUERY}`;
  // A server that is unreachable for a short time must not leave the machine in its firmware.
  writeFileSync(file('tftp/boot.ipxe'), `#!ipxe\nchain ${bootUrl} && exit ||\nsleep 3\nreboot\n`);
  writeFileSync(file('serial'), '');
  writeFileSync(file('disk'), '');
  truncateSync(file('disk'), (options.diskMiB ?? 64) * 1024 * 1024);
  if (options.nvmeMiB !== undefined) {
    writeFileSync(file('nvme'), '');
    truncateSync(file('nvme'), options.nvmeMiB * 1024 * 1024);
  }
  for (const [index, { sizeMiB }] of (options.furtherDisks ?? []).entries()) {
    writeFileSync(file(`further-${index}`), '');
    truncateSync(file(`further-${index}`), sizeMiB * 1024 * 1024);
  }
  writeFileSync(file('run'), runScript(dir, mac, options), { mode: 0o755 });
  const pid = () => runningIn(dir);
  const pullPlug = () => {
    const running = pid();
    if (running !== null) process.kill(running, 'SIGKILL');
  };
  // A test that fails before it ends its machine must not leave it behind.
  process.once('exit', pullPlug);
  let child: ChildProcess | null = null;
  const powerOff = async () => {
    pullPlug();
    while (pid() !== null) await sleep(20);
    child = null;
  };
  return {
    mac,
    disk: file('disk'),
    nvme: file('nvme'),
    variables: file('variables'),
    script: `exec ${file('run')} "$1"`,
    powerOn: (from) => {
      if (pid() !== null || (child !== null && child.exitCode === null && child.signalCode === null))
        throw new Error('the machine is on already');
      if (typeof from === 'object') copyFileSync(EMPTY_VARIABLES, file('variables'));
      child = spawn(file('run'), typeof from === 'object' ? ['cd', from.cd] : [from], { stdio: 'ignore' });
    },
    eject: async () => {
      if (pid() !== null) await ejectByMonitor(file('monitor'));
    },
    powerOff,
    isOn: () => pid() !== null,
    serial: () => readFileSync(file('serial'), 'latin1'),
    readDisk: (length, from = 0) => readPart(file('disk'), length, from),
    readFurtherDisk: (index, length) => readPart(file(`further-${index}`), length, 0),
    destroy: async () => {
      process.off('exit', pullPlug);
      child?.kill('SIGKILL');
      await powerOff();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Called with what to boot from. The process of the script becomes that of the machine. */
function runScript(
  dir: string,
  mac: string,
  { serverPort, memoryMiB = 512, idleCard, nvmeMiB, furtherDisks = [], firmware }: QemuOptions,
): string {
  const idle = idleCard === undefined ? '' : '-device virtio-net-pci,romfile= ';
  const nvme =
    nvmeMiB === undefined
      ? ''
      : `-drive 'file=${dir}/nvme,if=none,id=nvme0,format=raw,cache=unsafe' -device nvme,drive=nvme0,serial=${NVME_SERIAL} `;
  const further = furtherDisks.map((disk, index) => furtherDisk(dir, disk, index)).join(' ');
  // One small process for each connection that the machine opens.
  const forward = `guestfwd=tcp:${new URL(GUEST_SERVER).host}-cmd:busybox nc 127.0.0.1 ${serverPort}`;
  const net = `user,id=net0,restrict=on,tftp=${dir}/tftp,bootfile=boot.ipxe,${forward}`;
  const uefi =
    firmware === undefined
      ? ''
      : `-drive if=pflash,format=raw,unit=0,readonly=on,file=${FIRMWARE} -drive 'if=pflash,format=raw,unit=1,file=${dir}/variables' `;
  // A machine that finds nothing to boot tries again, as servers do: with an empty disk, every 10 s or so.
  // IPv6 stays on: without router advertisements iPXE would wait 13 s for one.
  return `#!/bin/sh
case $1 in
  pxe) net=bootindex=1 disk=bootindex=2 ;;
  cd)
    net=romfile= disk=bootindex=2
    set -- "$1" -drive "if=none,id=cd0,media=cdrom,readonly=on,format=raw,file=$2" -device ide-cd,id=cd,drive=cd0,bootindex=1
    ;;
  *) net=romfile= disk=${firmware === undefined ? 'bootindex=1' : 'bootindex=-1'} ;;
esac
shift
exec qemu-system-x86_64 "$@" -accel tcg -m ${memoryMiB} -display none -monitor none -qmp 'unix:${dir}/monitor,server=on,wait=off' -pidfile '${dir}/pid' \\
  -boot reboot-timeout=2000 \\
  -chardev file,id=serial0,path='${dir}/serial',append=on -serial chardev:serial0 \\
  ${uefi}${idle}-netdev '${net}' -device "virtio-net-pci,netdev=net0,mac=${mac},$net" \\
  -drive 'file=${dir}/disk,if=none,id=disk0,format=raw,cache=unsafe' -device "virtio-blk-pci,drive=disk0,serial=${DISK_SERIAL},$disk" \\
  ${nvme}${further} </dev/null >>'${dir}/log' 2>&1
`;
}

/** With the protocol of QEMU's monitor: a greeting, and an answer to each command. */
async function ejectByMonitor(path: string): Promise<void> {
  const socket = connect(path);
  const lines = createInterface({ input: socket });
  const commands = [
    { execute: 'qmp_capabilities' },
    { execute: 'eject', arguments: { id: 'cd', force: true } },
  ];
  try {
    for await (const line of lines) {
      if ('event' in (JSON.parse(line) as object)) continue;
      const command = commands.shift();
      if (command === undefined) return;
      socket.write(`${JSON.stringify(command)}\n`);
    }
  } finally {
    socket.destroy();
  }
}

function furtherDisk(dir: string, { kind, serial, model = '' }: FurtherDisk, index: number): string {
  const drive = `-drive 'file=${dir}/further-${index},if=none,id=further${index},format=raw,cache=unsafe'`;
  const device = {
    virtio: `-device 'virtio-blk-pci,drive=further${index},serial=${serial}'`,
    nvme: `-device 'nvme,drive=further${index},serial=${serial}'`,
    scsi: `-device virtio-scsi-pci,id=scsi${index} -device 'scsi-hd,bus=scsi${index}.0,drive=further${index},serial=${serial},vendor=INGOT,product=${model}'`,
  }[kind];
  return `${drive} ${device}`;
}

/** The process whose number QEMU has left, if it still is that machine. */
function runningIn(dir: string): number | null {
  try {
    const pid = Number(readFileSync(join(dir, 'pid'), 'utf8'));
    // A zombie has no command line, and another process another one.
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(dir) ? pid : null;
  } catch {
    return null;
  }
}

/** Of the range that QEMU's documentation uses. */
function randomMac(): string {
  return ['52', '54', '00', ...[...randomBytes(3)].map((byte) => byte.toString(16).padStart(2, '0'))].join(
    ':',
  );
}

function readPart(file: string, length: number, from: number): Buffer {
  const part = Buffer.alloc(length);
  const opened = openSync(file, 'r');
  try {
    return part.subarray(0, readSync(opened, part, 0, length, from));
  } finally {
    closeSync(opened);
  }
}
