/** One probe of one machine: its host, BMC and cluster at the same time, under one time limit. */
import type { Machine } from '../domain/machine/machine.ts';
import type { Inspect, ProbeResult } from '../providers/provider.ts';
import type { ProbeResults } from './derive-conditions.ts';

export interface ProbeOptions {
  readonly limitMs: number;
  readonly stop: AbortSignal;
  /** The probe itself failed, which says nothing about the machine. */
  readonly onProbeError: (error: unknown, probe: keyof Inspect) => void;
}

export const NOTHING_SEEN: ProbeResults = { host: null, bmc: null, cluster: null };

/** No answer in time means that a host or a BMC is unreachable; of a cluster it says nothing about its nodes. */
const TIMEOUT_IS_A_MISS = {
  host: true,
  bmc: true,
  cluster: false,
} as const satisfies Record<keyof Inspect, boolean>;

/** Null when it was stopped. A probe that ignores its signal is abandoned. */
export async function probeMachine(
  machine: Machine,
  inspect: Inspect,
  options: ProbeOptions,
): Promise<ProbeResults | null> {
  const { limitMs, stop, onProbeError } = options;
  if (stop.aborted) return null;
  const over = new AbortController();
  const end = () => over.abort();
  const timeout = new Promise<'timeout'>((resolve) => {
    over.signal.addEventListener('abort', () => resolve('timeout'), { once: true });
  });
  const timer = setTimeout(() => over.abort(), limitMs);
  stop.addEventListener('abort', end, { once: true });
  const ask = async <Probe extends keyof Inspect>(probe: Probe): Promise<ProbeResults[Probe]> => {
    try {
      const answer = await Promise.race([inspect[probe](machine, over.signal), timeout]);
      if (answer !== 'timeout') return answer;
    } catch (error) {
      if (!over.signal.aborted) {
        onProbeError(error, probe);
        return null;
      }
    }
    return TIMEOUT_IS_A_MISS[probe] ? noAnswer(limitMs) : null;
  };
  try {
    const [host, bmc, cluster] = await Promise.all([ask('host'), ask('bmc'), ask('cluster')]);
    return stop.aborted ? null : { host, bmc, cluster };
  } finally {
    clearTimeout(timer);
    stop.removeEventListener('abort', end);
  }
}

function noAnswer(limitMs: number): ProbeResult {
  return { ok: false, reason: 'NoAnswer', message: `no answer within ${limitMs / 1000} s` };
}
