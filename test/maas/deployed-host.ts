/**
 * The system that a simulated MAAS has deployed, as far as SSH shows it: a real sshd that is there while the machine is
 * Deployed and on, with the host key and the authorized keys that its user data brought, another boot after each time that it
 * was off, and a disk that is empty after each deployment.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { startTcpRelay } from '../advice/tcp-relay.ts';
import { createHost, type StandInHost } from '../parts/kubernetes/host.ts';
import type { MaasAdmin } from '../parts/maas/simulator.ts';
import { type Sshd, startSshd } from '../parts/sshd.ts';

export interface DeployedHost {
  /** For the machine's spec; the same whatever is deployed. */
  readonly endpoint: string;
  readonly host: StandInHost;
  /** How often it was asked to reboot itself. */
  reboots(): number;
  /** What of its programs was called: "netplan apply". */
  calls(): string[];
  bootId(): string;
  hostKey(): string;
  stop(): Promise<void>;
}

interface UserData {
  readonly ssh_keys?: { readonly ed25519_private?: string };
  readonly ssh_authorized_keys?: readonly string[];
}

const POLL_MS = 40;
/** Programs that are called for what they would do, and only write down that they were. */
const RECORDED = ['netplan', 'kubectl', 'dpkg', 'apt-get', 'apt-mark'];

export async function startDeployedHost(admin: MaasAdmin, mac: string): Promise<DeployedHost> {
  const host = createHost();
  const relay = await startTcpRelay(null);
  const bootFile = join(host.dir, 'boot-id');
  const callsFile = join(host.dir, 'calls');
  const rebootsFile = join(host.dir, 'reboots');
  const shell = join(host.dir, 'shell');
  const program = (name: string, line: string) =>
    writeFileSync(join(host.dir, 'bin', name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
  for (const name of RECORDED) program(name, `echo "${name} $*" >> ${callsFile}`);
  // It says how often, and has another boot; the machine that runs the tests goes on.
  const reboot = `echo once >> ${rebootsFile}; cat /proc/sys/kernel/random/uuid > ${bootFile}`;
  program('reboot', reboot);
  program('systemctl', `[ "$1" = reboot ] || { echo "systemctl $*" >> ${callsFile}; exit 0; }\n${reboot}`);
  const kubeadm = readFileSync(join(host.dir, 'bin', 'kubeadm'), 'utf8').replace('#!/bin/sh\n', '');
  program('kubeadm', `[ "$1" = upgrade ] && { echo "kubeadm $*" >> ${callsFile}; exit 0; }\n${kubeadm}`);
  const here = [
    `s#/proc/sys/kernel/random/boot_id#${bootFile}#g`,
    `s#/etc/kubernetes#${host.files.kubernetes}#g`,
    `s#/run/ingot-kubeadm-join.lock#${host.files.lock}#g`,
    `s#/etc/netplan#${host.dir}#g`,
  ].join('; ');
  const words = [
    '#!/bin/sh',
    `[ "$(command -v systemctl)" = ${host.dir}/bin/systemctl ] || exit 99`,
    `exec sh -c "$(printf '%s' "$SSH_ORIGINAL_COMMAND" | sed '${here}')"`,
  ];
  writeFileSync(shell, `${words.join('\n')}\n`, { mode: 0o755 });

  let sshd: Sshd | null = null;
  let deployed = '';
  let stopping = false;
  const follow = async () => {
    while (!stopping) {
      const [found] = (await admin.machines()).filter(({ mac_addresses: macs }) => macs.includes(mac));
      const seen = found && (await admin.machine(found.system_id));
      const isUp = seen?.status_name === 'Deployed' && seen.power_state === 'on';
      if (isUp && sshd === null) {
        if (seen.user_data !== deployed) host.wipe();
        deployed = seen.user_data;
        const data = (parse(deployed) ?? {}) as UserData;
        writeFileSync(bootFile, `${randomUUID()}\n`);
        sshd = await startSshd({
          env: host.env,
          config: [`ForceCommand ${shell}`],
          authorizedKeys: data.ssh_authorized_keys ?? [],
          ...(data.ssh_keys?.ed25519_private ? { hostKey: data.ssh_keys.ed25519_private } : {}),
        });
        relay.leadTo(sshd.port);
      } else if (!isUp && sshd !== null) {
        relay.leadTo(null);
        await sshd.stop();
        sshd = null;
      }
      await sleep(POLL_MS);
    }
  };
  const following = follow();
  const linesOf = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []);
  return {
    endpoint: relay.endpoint,
    host,
    reboots: () => linesOf(rebootsFile).length,
    calls: () => linesOf(callsFile),
    bootId: () => readFileSync(bootFile, 'utf8').trim(),
    hostKey: () => sshd?.hostKey ?? '',
    stop: async () => {
      stopping = true;
      await following;
      await sshd?.stop();
      await relay.stop();
      host.remove();
    },
  };
}
