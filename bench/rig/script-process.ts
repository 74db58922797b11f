/** A script of the benchmark in a process of its own, which prints its ports as one line of JSON. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Cleanup } from './cleanup.ts';

export interface ScriptPorts {
  readonly grpcPort?: number;
  readonly httpPort?: number;
}

/** `script` is relative to bench/. */
export async function startScript(script: string, cleanup: Cleanup): Promise<ScriptPorts> {
  const child = spawn(process.execPath, [new URL(`../${script}`, import.meta.url).pathname], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  cleanup.add(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  });
  const gone = once(child, 'exit').then(() => Promise.reject(new Error(`${script} exited`)));
  gone.catch(() => {});
  const [data] = (await Promise.race([once(child.stdout, 'data'), gone])) as [Buffer];
  return JSON.parse(data.toString()) as ScriptPorts;
}
