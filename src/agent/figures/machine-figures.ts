/** What the agent reports of its machine. A value that can't be measured is left out. */
import { statfs } from 'node:fs/promises';
import { cpus } from 'node:os';
import type { GpuModel, Metrics } from '../../domain/agent/agent.ts';
import { type Boot, readBoot } from './boot.ts';
import { countContainers } from './containers.ts';
import { startCpuMeter } from './cpu-meter.ts';
import { createGpuReaders } from './gpus.ts';
import { memoryUtilisation, readMemory } from './memory.ts';
import { findPrivateIp } from './private-ip.ts';

/** The hardware fields of a registration (docs/agents.md). */
export interface Hardware extends Boot {
  readonly cpu: string;
  readonly memory: string;
  readonly gpu_count: string;
  readonly private_ip: string;
  /** Left out if no model is known. */
  readonly gpus?: readonly GpuModel[];
}

export interface MachineFigures {
  hardware(stop: AbortSignal): Promise<Hardware>;
  /** `gpuCount` is undefined if unknown. */
  metrics(stop: AbortSignal): Promise<{ readonly metrics: Metrics; readonly gpuCount: number | undefined }>;
}

export interface MachineFiguresOptions {
  readonly serverHost: string;
  /** Null: detected. */
  readonly privateIp: string | null;
}

export async function startMachineFigures(options: MachineFiguresOptions): Promise<MachineFigures> {
  const gpuReaders = createGpuReaders();
  const cpuMeter = await startCpuMeter();
  const millicores = cpus().length * 1000;
  return {
    async hardware(stop) {
      const [gpus, memory, privateIp, boot] = await Promise.all([
        gpuReaders.registered(stop),
        readMemory(),
        options.privateIp ?? findPrivateIp(options.serverHost),
        readBoot(),
      ]);
      return {
        cpu: `${millicores}m`,
        memory: `${memory.totalKiB}Ki`,
        // Required. If the tool fails, the count is corrected by a later registration.
        gpu_count: String(gpus?.count ?? 0),
        private_ip: privateIp,
        ...(gpus && gpus.models.length > 0 && { gpus: gpus.models }),
        ...boot,
      };
    },
    async metrics(stop) {
      const [gpus, memory, disk, containers, cpu] = await Promise.all([
        gpuReaders.now(stop),
        readMemory(),
        readDisk(),
        countContainers(),
        cpuMeter.read(stop),
      ]);
      const metrics: Metrics = {
        ...(cpu === undefined ? {} : { cpu_utilization_pct: cpu }),
        memory_utilization_pct: memoryUtilisation(memory),
        total_cpu_available: millicores,
        total_memory_available: Math.floor(memory.totalKiB / 1024),
        ...(gpus?.free === undefined ? {} : { free_gpu_count: gpus.free }),
        ...disk,
        ...(containers === undefined ? {} : { container_count: containers }),
      };
      return { metrics, gpuCount: gpus?.count };
    },
  };
}

/** Free is what an unprivileged process can write. */
async function readDisk(): Promise<Pick<Metrics, 'total_disk_space_bytes' | 'total_disk_free_bytes'>> {
  try {
    const { blocks, bavail, bsize } = await statfs('/', { bigint: true });
    return { total_disk_space_bytes: Number(blocks * bsize), total_disk_free_bytes: Number(bavail * bsize) };
  } catch {
    return {};
  }
}
