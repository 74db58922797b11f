/**
 * What one identity, one address or one network may ask of a replica. The defaults let a whole fleet behind one address
 * work; zero is no limit. Each process counts for itself: with workers or replicas, a client that reaches several of them
 * has the limit of each.
 */
import { z } from 'zod';
import type { Rate } from '../../domain/limit/keyed-rate.ts';

const count = (byDefault: number) => z.int().min(0).max(1_000_000).default(byDefault);

const limits = z.strictObject({
  /** Calls of one operator's token, session or certificate, or of one agent; ten seconds' worth may come at once. */
  calls_per_second_per_identity: count(2_000),
  /** Calls from one address that have no valid credentials: boots, reports, wrong tokens. */
  calls_per_second_per_address: count(1_000),
  /** Streams that one identity has open at once. */
  streams_per_identity: count(100),
  /** Different wrong credentials from one address before it has to wait, twice as long after each further one. */
  failed_logins_per_address: count(20),
  /** Unknown machines of one network, /24 or /64, that are taken in within a minute. */
  new_machines_per_minute: count(1_000),
  /** A connection that has made no request for this long is closed. */
  idle_connection_seconds: z.int().min(1).max(3_600).default(10),
  /** A client that takes nothing of what waits for it for this long is disconnected. */
  unread_answer_seconds: z.int().min(1).max(3_600).default(60),
});

export const limitsConfiguration = limits.default(() => limits.parse({}));

export type LimitsConfiguration = z.output<typeof limits>;

const BURST_SECONDS = 10;

export function perSecond(calls: number): Rate {
  return { perSecond: calls, burst: calls * BURST_SECONDS };
}

export function perMinute(machines: number): Rate {
  return { perSecond: machines / 60, burst: machines };
}
