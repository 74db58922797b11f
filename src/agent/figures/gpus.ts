/** GPUs, as nvidia-smi reports them, or as the PCI bus shows them if that tool is missing. */
import { spawn } from 'node:child_process';
import type { GpuModel } from '../../domain/agent/agent.ts';
import { type PciGpu, type PciOptions, readPciGpus } from './pci-gpus.ts';

export interface Gpus {
  readonly count: number;
  /** GPUs without a compute process; undefined if unknown. */
  readonly free: number | undefined;
  readonly models: readonly GpuModel[];
}

/** Undefined if the tool is installed and fails, which is not the same as no GPUs. */
export type GpuReader = (stop: AbortSignal) => Promise<Gpus | undefined>;

export interface GpuReaderOptions {
  readonly command?: string;
  readonly timeLimitMs?: number;
  readonly pci?: PciOptions;
}

export interface GpuReaders {
  /** For a keepalive. */
  readonly now: GpuReader;
  /** For a registration: if the tool fails, the GPUs of the PCI bus. */
  readonly registered: GpuReader;
}

const LONGEST_OUTPUT = 1024 * 1024;

export function createGpuReaders(options: GpuReaderOptions = {}): GpuReaders {
  const readTool = createToolReader(options);
  const onBus = async (): Promise<Gpus | undefined> => {
    const gpus = await readPciGpus(options.pci);
    return gpus && busGpus(gpus);
  };
  const now: GpuReader = async (stop) => {
    const reported = await readTool(stop);
    if (reported === undefined) return undefined;
    if (reported === 'absent') return (await onBus()) ?? NONE;
    if (reported.count > 0) return reported;
    // nvidia-smi does not report the GPUs of other vendors.
    const others = (await readPciGpus(options.pci))?.filter(({ vendor }) => vendor !== '10de') ?? [];
    return others.length === 0 ? reported : busGpus(others);
  };
  return { now, registered: async (stop) => (await now(stop)) ?? (await onBus()) };
}

const NONE: Gpus = { count: 0, free: 0, models: [] };

function busGpus(gpus: readonly PciGpu[]): Gpus {
  if (gpus.length === 0) return NONE;
  return { count: gpus.length, free: undefined, models: modelsOf(gpus.map(({ model }) => model)) };
}

function modelsOf(names: readonly string[]): GpuModel[] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([model, count]) => ({ model, count }));
}

function createToolReader({
  command = 'nvidia-smi',
  timeLimitMs = 5000,
}: GpuReaderOptions): (stop: AbortSignal) => Promise<Gpus | 'absent' | undefined> {
  // A process that waits for a broken driver can't be killed. While it exists, no second one is started.
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
    const all = await run(['--query-gpu=uuid,name', '--format=csv,noheader'], stop);
    if (all === 'absent' || all === undefined) return all;
    const gpus = parseGpus(all);
    if (gpus.size === 0) return NONE;
    const busy = await run(['--query-compute-apps=gpu_uuid', '--format=csv,noheader'], stop);
    if (busy === undefined || busy === 'absent') return undefined;
    const inUse = parseGpus(busy);
    return {
      count: gpus.size,
      free: [...gpus.keys()].filter((uuid) => !inUse.has(uuid)).length,
      models: modelsOf([...gpus.values()].filter((name) => name !== '')),
    };
  };
}

/** Names by uuid. Other lines are messages, such as "No devices were found". */
function parseGpus(output: string): Map<string, string> {
  return new Map(
    output.split('\n').flatMap((line) => {
      const [, uuid, name = ''] = /^\s*(GPU-[0-9a-f-]+)\s*(?:,\s*(.*\S)\s*)?$/i.exec(line) ?? [];
      return uuid === undefined ? [] : [[uuid, name] as const];
    }),
  );
}
