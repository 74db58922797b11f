/**
 * An upstream that does not answer is not a failure: it is waited out until the step's own limit. Since when is kept in
 * the step, so that it outlives the process, and forgotten with the first answer.
 */
import type { Step, Unanswered } from '../domain/operation/step.ts';

/** An upstream that does not answer. It is waited for until the step's own limit, and uses up no retries. */
export interface Outage {
  /** As in "waiting for MAAS to answer": MAAS, the BMC, the SSH host, the cluster. */
  readonly upstream: string;
  /** Which one. */
  readonly name: string;
  /** Whether what was asked for may have been carried out. Where it may, the next probe finds out. */
  readonly effect: 'none' | 'unknown';
  /** How long the upstream asked to be left alone. */
  readonly retryAfterMs?: number | undefined;
}

/** Since when: of an outage that goes on, since it was first met. */
export function unansweredBy({ unanswered }: Step, { upstream, name }: Outage, now: Date): Unanswered {
  const isSame = unanswered?.upstream === upstream && unanswered.name === name;
  return { upstream, name, since: isSame ? unanswered.since : now.toISOString() };
}

export function waitingForAnswer({ upstream, name, since }: Unanswered): string {
  return `waiting for ${upstream} to answer since ${since} (${name})`;
}

/** How long upstreams have not answered in this attempt, with an outage that goes on. */
export function unansweredMs(step: Step, now: Date): number {
  const { unanswered, attemptStartedAt, unansweredMs: before = 0 } = step;
  if (!unanswered) return before;
  const since = Math.max(Date.parse(unanswered.since), Date.parse(attemptStartedAt ?? unanswered.since));
  return before + Math.max(0, now.getTime() - since);
}

/** What is known of a step whose upstream has answered. */
export function answered(step: Step, now: Date): Partial<Step> {
  return { unanswered: null, unansweredMs: unansweredMs(step, now) };
}

/** How often it is asked again: after a share of the time that it has been away. */
const PROBE = { minMs: 1_000, maxMs: 10_000, share: 4 } as const;

/** Often at first, rarely when it takes long, and not before the time that the upstream asked for. */
export function nextTryMs({ unanswered }: Step, { retryAfterMs = 0 }: Outage, now: Date): number {
  const awayMs = unanswered ? now.getTime() - Date.parse(unanswered.since) : 0;
  return Math.max(retryAfterMs, Math.min(PROBE.maxMs, Math.max(PROBE.minMs, awayMs / PROBE.share)));
}
