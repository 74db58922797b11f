/** Exponential backoff with full jitter: attempt 1 waits up to `firstMs`, each further one twice as long. */
export interface BackoffPolicy {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** `random` is in [0, 1). At least half of the ceiling is kept, so that a retry is never immediate. */
export function backoffMs(policy: BackoffPolicy, attempt: number, random: number): number {
  const ceiling = Math.min(policy.maxMs, policy.firstMs * 2 ** Math.min(attempt - 1, 30));
  return Math.round(ceiling / 2 + (ceiling / 2) * random);
}
