/** Containers that run here, counted by the process that a runtime keeps beside each. */
import { readdir, readFile } from 'node:fs/promises';

/** As the kernel shortens them to 15 characters. Kubernetes on containerd has one a pod. */
const BESIDE_EACH = ['containerd-shim', 'conmon'];
const RUNTIMES = ['containerd', 'dockerd', 'crio', 'podman', ...BESIDE_EACH];

/** Undefined where no runtime is seen: that there are no containers is then not known. */
export async function countContainers(proc = '/proc'): Promise<number | undefined> {
  let seen = false;
  let count = 0;
  for (const name of await processNames(proc)) {
    if (RUNTIMES.includes(name)) seen = true;
    if (BESIDE_EACH.includes(name)) count += 1;
  }
  return seen ? count : undefined;
}

async function processNames(proc: string): Promise<string[]> {
  try {
    const pids = (await readdir(proc)).filter((name) => /^\d+$/.test(name));
    const names: string[] = [];
    for (const pid of pids) {
      // A process may be gone by now.
      names.push((await readFile(`${proc}/${pid}/comm`, 'utf8').catch(() => '')).trim());
    }
    return names;
  } catch {
    return [];
  }
}
