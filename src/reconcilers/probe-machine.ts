/** One look at one machine: all of its probes at once, under one time limit. */
import type { Machine } from '../domain/machine/machine.ts';
import type { Inspect, ProbeResult } from '../providers/provider.ts';
import type { ProbeResults } from './derive-conditions.ts';

export interface ProbeOptions {
  readonly limitMs: number;
  readonly stop: AbortSignal;
  /** A probe that failed by itself, which tells nothing about the machine. */
  readonly onProbeError: (error: unknown, probe: keyof Inspect) => void;
}

export const NOTHING_SEEN: ProbeResults = { host: null, bmc: null, cluster: null };

/** A host or a BMC that says nothing in time is not there; a cluster that doesn't tells nothing about its nodes. */
const SILENCE_IS_A_MISS = {
  host: true,
  bmc: true,
  cluster: false,
} as const satisfies Record<keyof Inspect, boolean>;

/** Null when it was stopped. A probe that does not heed its signal is left behind. */
export async function probeMachine(
  machine: Machine,
  inspect: Inspect,
  options: ProbeOptions,
): Promise<ProbeResults | null> {
  const { limitMs, stop, onProbeError } = options;
  if (stop.aborted) return null;
  const over = new AbortController();
  const end = () => over.abort();
  const silence = new Promise<'silent'>((resolve) => {
    over.signal.addEventListener('abort', () => resolve('silent'), { once: true });
  });
  const timer = setTimeout(() => over.abort(), limitMs);
  stop.addEventListener('abort', end, { once: true });
  const ask = async <Probe extends keyof Inspect>(probe: Probe): Promise<ProbeResults[Probe]> => {
    try {
      const answer = await Promise.race([inspect[probe](machine, over.signal), silence]);
      if (answer !== 'silent') return answer;
    } catch (error) {
      if (!over.signal.aborted) {
        onProbeError(error, probe);
        return null;
      }
    }
    return SILENCE_IS_A_MISS[probe] ? noAnswer(limitMs) : null;
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
