/** Loops and percentiles. Every loop is bounded in count. */

/** Runs `work` for each index with so many under way at once; returns how many a second. */
export async function perSecond(
  count: number,
  concurrency: number,
  work: (index: number) => Promise<unknown>,
): Promise<number> {
  let next = 0;
  const lane = async () => {
    while (next < count) {
      const index = next;
      next += 1;
      await work(index);
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: concurrency }, lane));
  return count / ((performance.now() - startedAt) / 1000);
}

export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
}

export async function latencies(
  count: number,
  work: (index: number) => Promise<unknown>,
): Promise<Percentiles> {
  const times: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const startedAt = performance.now();
    await work(index);
    times.push(performance.now() - startedAt);
  }
  return percentiles(times);
}

export function percentiles(times: ArrayLike<number>): Percentiles {
  const sorted = Float64Array.from(times).sort();
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}
