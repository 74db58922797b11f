/**
 * An ARM64 machine: QEMU's `virt` without acceleration, with UEFI. Debian has no iPXE for it, so the test does what iPXE would
 * do: it fetches the script, the kernel and the initramfs, and hands them to the firmware.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { REQUIREMENTS } from './debian-packages.ts';
import { GUEST_SERVER } from './qemu.ts';

const [, , FIRMWARE] = REQUIREMENTS.arm64.files;

export interface Arm64Boot {
  readonly kernel: Buffer;
  readonly initrd: Buffer;
  readonly cmdline: string;
}

export interface Arm64Machine {
  readonly mac: string;
  /** Runs until it reboots, which switches it off. */
  run(boot: Arm64Boot): Promise<void>;
  serial(): string;
  readDisk(): Buffer;
  destroy(): void;
}

export function createArm64Machine(serverPort: number, diskMiB: number): Arm64Machine {
  const dir = mkdtempSync(join(tmpdir(), 'ingot-arm64-'));
  const file = (name: string) => join(dir, name);
  const mac = '52:54:00:64:64:64';
  writeFileSync(file('serial'), '');
  writeFileSync(file('disk'), '');
  truncateSync(file('disk'), diskMiB * 1024 * 1024);
  let stop = () => {};
  return {
    mac,
    serial: () => readFileSync(file('serial'), 'latin1'),
    readDisk: () => readFileSync(file('disk')),
    run: ({ kernel, initrd, cmdline }) => {
      writeFileSync(file('kernel'), kernel);
      writeFileSync(file('initrd'), initrd);
      const forward = `guestfwd=tcp:${new URL(GUEST_SERVER).host}-cmd:busybox nc 127.0.0.1 ${serverPort}`;
      const args = `-M virt -cpu cortex-a57 -accel tcg -m 1024 -display none -monitor none -no-reboot
        -bios ${FIRMWARE} -serial file:${file('serial')} -kernel ${file('kernel')} -initrd ${file('initrd')}
        -device virtio-net-pci,netdev=net0,mac=${mac},romfile= -device virtio-blk-pci,drive=disk0
        -drive file=${file('disk')},if=none,id=disk0,format=raw,cache=unsafe`.split(/\s+/);
      const netdev = ['-netdev', `user,id=net0,restrict=on,${forward}`];
      const machine = spawn('qemu-system-aarch64', [...args, ...netdev, '-append', cmdline], {
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      stop = () => machine.kill('SIGKILL');
      process.once('exit', stop);
      return new Promise((resolve, reject) => {
        machine.once('error', reject);
        machine.once('exit', (code) =>
          code === 0
            ? resolve()
            : reject(new Error(`QEMU ended with ${code}\n${readFileSync(file('serial'))}`)),
        );
      });
    },
    destroy: () => {
      stop();
      process.off('exit', stop);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
