/**
 * What one identity, one address or one network may ask of a replica. The defaults let a whole fleet behind one address
 * work; zero is no limit. Each process counts for itself: with workers or replicas, a client that reaches several of them
 * has the limit of each.
 */
import { z } from 'zod';
import type { Rate } from '../../domain/limit/keyed-rate.ts';

const limit = z.strictObject({
  /** Unknown machines of one network, /24 or /64, that are taken in within a minute. */
  new_machines_per_minute: z.int().min(0).max(1_000_000).default(1_000),
});

export const limitsConfiguration = limit.default(() => limit.parse({}));

export function perMinute(count: number): Rate {
  return { perSecond: count / 60, burst: count };
}
