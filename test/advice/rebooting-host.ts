/** A host whose boot id is in a file: an sshd that shows that file in place of the kernel's, and a stand-in for reboot. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSshd } from '../parts/sshd.ts';

export interface RebootingHost {
  readonly port: number;
  readonly user: string;
  readonly keyFile: string;
  /** From now on its boot is the one of this file. */
  bootsWith(file: string): void;
  stop(): Promise<void>;
}

const FIRST_BOOT = '00000000-0000-4000-8000-000000000001';

export async function startRebootingHost(): Promise<RebootingHost> {
  const folder = mkdtempSync(join(tmpdir(), 'ingot-rebooting-'));
  const [bin, bootId, shell] = [join(folder, 'bin'), join(folder, 'boot-id'), join(folder, 'shell')];
  mkdirSync(bin);
  writeFileSync(bootId, `${FIRST_BOOT}\n`);
  // A request to reboot gets another boot id, and the machine that runs the tests goes on.
  for (const program of ['systemctl', 'reboot']) {
    writeFileSync(join(bin, program), `#!/bin/sh\ncat /proc/sys/kernel/random/uuid > ${bootId}\n`, {
      mode: 0o755,
    });
  }
  const here = `s#/proc/sys/kernel/random/boot_id#${bootId}#g`;
  const words = [
    '#!/bin/sh',
    `[ "$(command -v systemctl)" = ${bin}/systemctl ] && [ "$(command -v reboot)" = ${bin}/reboot ] || exit 99`,
    `exec sh -c "$(printf '%s' "$SSH_ORIGINAL_COMMAND" | sed '${here}')"`,
  ];
  writeFileSync(shell, `${words.join('\n')}\n`, { mode: 0o755 });
  const env = { PATH: `${bin}:/usr/sbin:/usr/bin:/sbin:/bin` };
  const sshd = await startSshd({ env, config: [`ForceCommand ${shell}`] });
  return {
    port: sshd.port,
    user: sshd.user,
    keyFile: sshd.keyFile,
    bootsWith: (file) => {
      if (existsSync(bootId)) rmSync(bootId);
      symlinkSync(file, bootId);
    },
    stop: async () => {
      await sshd.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
