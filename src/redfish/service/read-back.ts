/** What was set is what the service says afterwards, and not what was sent: services accept what they do not do, or do it later. */
import { sleep } from '../../time/sleep.ts';
import type { RedfishService } from './redfish-service.ts';

const POLL_MS = 500;

interface ReadBackOptions<Reading> {
  readonly read: () => Promise<Reading>;
  readonly isSet: (reading: Reading) => boolean;
  /** How long the service may take; the time of one answer without it. */
  readonly limitMs?: () => Promise<number>;
  readonly signal: AbortSignal;
}

/** Reads until what was set is read, or the time is over. Returns the last reading, for the caller to judge. */
export async function readBack<Reading>(
  service: RedfishService,
  { read, isSet, limitMs, signal }: ReadBackOptions<Reading>,
): Promise<Reading> {
  const startedAt = performance.now();
  for (;;) {
    const reading = await read();
    if (isSet(reading)) return reading;
    const limit = limitMs === undefined ? service.limitMs : await limitMs();
    if (performance.now() - startedAt > limit) return reading;
    await sleep(POLL_MS, signal);
    signal.throwIfAborted();
  }
}
