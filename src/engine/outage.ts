/**
 * An upstream that does not answer is not a failure: the step waits for it until its own time limit. The start of the outage is
 * stored in the step, so that it survives the process, and cleared by the first answer.
 */
import type { Step, Unanswered } from '../domain/operation/step.ts';

/** An upstream that does not answer. The wait for it uses up no retries. */
export interface Outage {
  /** As in "waiting for MAAS to answer": MAAS, the BMC, the SSH host, the cluster. */
  readonly upstream: string;
  /** Which one. */
  readonly name: string;
  /** Whether the call may have been carried out. Where it may, the next probe finds out. */
  readonly effect: 'none' | 'unknown';
  /** How long the upstream asked to be left alone. */
  readonly retryAfterMs?: number | undefined;
}

/** An outage that goes on keeps the time at which it was first met. */
export function unansweredBy({ unanswered }: Step, { upstream, name }: Outage, now: Date): Unanswered {
  const isSame = unanswered?.upstream === upstream && unanswered.name === name;
  return { upstream, name, since: isSame ? unanswered.since : now.toISOString() };
}

export function waitingForAnswer({ upstream, name, since }: Unanswered): string {
  return `waiting for ${upstream} to answer since ${since} (${name})`;
}

/** How long upstreams have not answered in this attempt, including an outage that goes on. */
export function unansweredMs(step: Step, now: Date): number {
  const { unanswered, attemptStartedAt, unansweredMs: before = 0 } = step;
  if (!unanswered) return before;
  const since = Math.max(Date.parse(unanswered.since), Date.parse(attemptStartedAt ?? unanswered.since));
  return before + Math.max(0, now.getTime() - since);
}

/** The fields of a step whose upstream has answered. */
export function answered(step: Step, now: Date): Partial<Step> {
  return { unanswered: null, unansweredMs: unansweredMs(step, now) };
}

/** The upstream is probed again after a share of the time that it has been unavailable. */
const PROBE = { minMs: 1_000, maxMs: 10_000, share: 4 } as const;

/** Often at first, rarely in a long outage, and not before the time that the upstream asked for. */
export function nextTryMs({ unanswered }: Step, { retryAfterMs = 0 }: Outage, now: Date): number {
  const awayMs = unanswered ? now.getTime() - Date.parse(unanswered.since) : 0;
  return Math.max(retryAfterMs, Math.min(PROBE.maxMs, Math.max(PROBE.minMs, awayMs / PROBE.share)));
}
