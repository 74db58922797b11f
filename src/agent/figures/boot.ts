/** Which boot of the machine this is, and for how long it has run. */
import { readFile } from 'node:fs/promises';

/** The fields of a registration (docs/agents.md). */
export interface Boot {
  readonly boot_id?: string;
  readonly uptime_seconds?: number;
}

/** What can't be read is left out: a system without /proc has neither. */
export async function readBoot(proc = '/proc'): Promise<Boot> {
  const [bootId, uptime] = await Promise.all([
    textOf(`${proc}/sys/kernel/random/boot_id`),
    textOf(`${proc}/uptime`),
  ]);
  const seconds = Number.parseFloat(uptime);
  return {
    ...(/^[0-9a-f-]{36}$/.test(bootId.trim()) && { boot_id: bootId.trim() }),
    ...(seconds >= 0 && { uptime_seconds: Math.floor(seconds) }),
  };
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return '';
  }
}
