/** Counts the running containers, by the monitor process that a runtime starts for each. */
import { readdir, readFile } from 'node:fs/promises';

/** Names as the kernel truncates them, to 15 characters. Kubernetes on containerd has one per pod. */
const MONITORS = ['containerd-shim', 'conmon'];
const RUNTIMES = ['containerd', 'dockerd', 'crio', 'podman', ...MONITORS];

/** Undefined if no runtime is running: then the number of containers is unknown. */
export async function countContainers(proc = '/proc'): Promise<number | undefined> {
  let seen = false;
  let count = 0;
  for (const name of await processNames(proc)) {
    if (RUNTIMES.includes(name)) seen = true;
    if (MONITORS.includes(name)) count += 1;
  }
  return seen ? count : undefined;
}

async function processNames(proc: string): Promise<string[]> {
  try {
    const pids = (await readdir(proc)).filter((name) => /^\d+$/.test(name));
    const names: string[] = [];
    for (const pid of pids) {
      // The process may have ended meanwhile.
      names.push((await readFile(`${proc}/${pid}/comm`, 'utf8').catch(() => '')).trim());
    }
    return names;
  } catch {
    return [];
  }
}
