/** NVIDIA GPUs, as their own tool tells of them. */
import { spawn } from 'node:child_process';

export interface Gpus {
  readonly count: number;
  /** Those on which no compute process runs. */
  readonly free: number;
}

/** None where there is no such tool; undefined where it is there and fails, which is not the same as none. */
export type GpuReader = (stop: AbortSignal) => Promise<Gpus | undefined>;

export interface GpuReaderOptions {
  readonly command?: string;
  readonly timeLimitMs?: number;
}

const LONGEST_OUTPUT = 1024 * 1024;

export function createGpuReader({
  command = 'nvidia-smi',
  timeLimitMs = 5000,
}: GpuReaderOptions = {}): GpuReader {
  // A tool that waits for a broken driver can't even be killed. It is left alone, and no second one sent after it.
  let stuck = false;

  const run = (args: readonly string[], stop: AbortSignal): Promise<string | 'absent' | undefined> =>
    new Promise((resolve) => {
      if (stop.aborted || stuck) return resolve(undefined);
      const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'], windowsHide: true });
      let output = '';
      const finish = (result: string | 'absent' | undefined): void => {
        clearTimeout(timer);
        stop.removeEventListener('abort', giveUp);
        resolve(result);
      };
      const giveUp = (): void => {
        child.kill('SIGKILL');
        child.stdout.destroy();
        child.unref();
        finish(undefined);
      };
      const timer = setTimeout(giveUp, timeLimitMs);
      stop.addEventListener('abort', giveUp);
      stuck = true;
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        if (output.length > LONGEST_OUTPUT) giveUp();
      });
      child.once('error', (error: NodeJS.ErrnoException) => {
        stuck = false;
        finish(error.code === 'ENOENT' ? 'absent' : undefined);
      });
      child.once('exit', () => {
        stuck = false;
      });
      child.once('close', (code) => finish(code === 0 ? output : undefined));
    });

  return async (stop) => {
    const all = await run(['--query-gpu=uuid', '--format=csv,noheader'], stop);
    if (all === 'absent') return { count: 0, free: 0 };
    if (all === undefined) return undefined;
    const uuids = parseUuids(all);
    if (uuids.size === 0) return { count: 0, free: 0 };
    const busy = await run(['--query-compute-apps=gpu_uuid', '--format=csv,noheader'], stop);
    if (busy === undefined || busy === 'absent') return undefined;
    const inUse = parseUuids(busy);
    return { count: uuids.size, free: [...uuids].filter((uuid) => !inUse.has(uuid)).length };
  };
}

/** Anything else in the output is a remark, such as "No devices were found". */
function parseUuids(output: string): Set<string> {
  const lines = output.split('\n').map((line) => line.trim());
  return new Set(lines.filter((line) => /^GPU-[0-9a-f-]+$/i.test(line)));
}
