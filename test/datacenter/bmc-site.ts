/** A datacenter of one BMC, and what can be seen of the programs that ask it. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Machine } from '../../src/domain/machine/machine.ts';
import type { IpmiBmc } from '../parts/ipmi.ts';
import { createSite, machineAt, type Site, type SiteOptions } from './site.ts';

/** For a provider that logs in to no host. */
export function unusedKey(): { readonly file: string; remove(): void } {
  const dir = mkdtempSync(join(tmpdir(), 'ingot-key-'));
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const file = join(dir, 'key');
  writeFileSync(file, privateKey.export({ type: 'pkcs1', format: 'pem' }));
  return { file, remove: () => rmSync(dir, { recursive: true, force: true }) };
}

/** ipmi_sim never shows that its boot flags are valid. */
export function bmcFields(bmc: Pick<IpmiBmc, 'user' | 'passwordFile'>): Readonly<Record<string, unknown>> {
  return {
    user: bmc.user,
    password_file: bmc.passwordFile,
    timeout_seconds: 4,
    boot: { ignore_valid_bit: true },
  };
}

export function createBmcSite(
  bmc: IpmiBmc,
  fields: Readonly<Record<string, unknown>> = {},
  options: SiteOptions = {},
): Site {
  const key = unusedKey();
  const sshd = { user: 'root', keyFile: key.file, knownHostsLine: '# no host' };
  const site = createSite(sshd, { ...options, bmc: { ...bmcFields(bmc), ...fields } });
  return {
    ...site,
    remove: () => {
      site.remove();
      key.remove();
    },
  };
}

export function machineWith(bmcEndpoint: string, sshEndpoint = ''): Machine {
  const machine = machineAt(sshEndpoint);
  return { ...machine, spec: { ...machine.spec, bmc_endpoint: bmcEndpoint, target_cluster_ref: '' } };
}

export interface SeenProgram {
  readonly pid: number;
  readonly commandLine: string;
  readonly environment: string;
}

/** The running ipmitool processes of this process. */
export function ipmitoolsOfOurs(): SeenProgram[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        if (!stat.includes('(ipmitool)') || Number(parent) !== process.pid || state === 'Z') return [];
        const read = (file: string) => readFileSync(`/proc/${name}/${file}`, 'utf8').replaceAll('\0', ' ');
        return [{ pid: Number(name), commandLine: read('cmdline'), environment: read('environ') }];
      } catch {
        // It has just ended.
        return [];
      }
    });
}
