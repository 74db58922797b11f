/** The file system of a host that can join: a directory, and a `kubeadm` to be found on its PATH. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { HostFiles } from '../../../src/clusters/joining-host.ts';

export interface StandInHost {
  readonly dir: string;
  readonly files: HostFiles;
  /** For the sshd that is its way in. */
  readonly env: Readonly<Record<string, string>>;
  /** What kubeadm shall do: 'delay-ms', 'break', 'version', 'print-config'. */
  control(name: string, value: string): void;
  forget(name: string): void;
  /** How often kubeadm join was started. */
  joins(): number;
  resets(): number;
  /** The disk is written again. */
  wipe(): void;
  remove(): void;
}

export function createHost(): StandInHost {
  const dir = mkdtempSync(join(tmpdir(), 'ingot-host-'));
  const bin = join(dir, 'bin');
  mkdirSync(bin);
  mkdirSync(join(dir, 'control'));
  const program = fileURLToPath(new URL('kubeadm.mjs', import.meta.url));
  const script = [
    '#!/bin/sh',
    'if [ "$1" = version ]; then cat "$STAND_IN_HOST/control/version" 2>/dev/null || echo v1.31.2; exit; fi',
    `exec "${process.execPath}" "${program}" "$@"\n`,
  ].join('\n');
  writeFileSync(join(bin, 'kubeadm'), script);
  chmodSync(join(bin, 'kubeadm'), 0o755);
  const count = (name: string) => {
    const file = join(dir, 'control', name);
    return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').length : 0;
  };
  return {
    dir,
    files: { kubernetes: join(dir, 'kubernetes'), lock: join(dir, 'join.lock') },
    env: { STAND_IN_HOST: dir, PATH: `${bin}:${dirname(process.execPath)}:/usr/sbin:/usr/bin:/sbin:/bin` },
    control: (name, value) => writeFileSync(join(dir, 'control', name), value),
    forget: (name) => rmSync(join(dir, 'control', name), { force: true }),
    joins: () => count('joins'),
    resets: () => count('resets'),
    wipe: () => rmSync(join(dir, 'kubernetes'), { recursive: true, force: true }),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}
