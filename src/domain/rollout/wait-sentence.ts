/** What holds a rollout up right now, in one sentence. */

import type { PassView, WaveInView } from './decide/pass-view.ts';
import { usedUpLimits } from './limit-sentence.ts';
import { isOpenAt, nextOpening } from './open-window.ts';
import type { MachineCounts, RolloutState } from './rollout.ts';

interface Situation extends Pick<PassView, 'spec' | 'now' | 'putOff' | 'underWay' | 'occupants'> {
  /** After the decision, as everything here. */
  readonly state: RolloutState;
  readonly reason: string;
  readonly waves: readonly WaveInView[];
  readonly totals: MachineCounts;
  readonly starts: number;
}

export function waitSentence(situation: Situation): string {
  const { state, spec, totals, reason } = situation;
  switch (state) {
    case 'scheduled':
      return `It starts at ${spec.startAt?.toISOString() ?? 'once'}.`;
    case 'paused':
      return `It is paused${reason === '' ? '' : ` (${reason})`}; resume it.`;
    case 'stopped':
      return `It is stopped: ${reason}. Resume it, retry what failed, or abort it.`;
    case 'aborting':
      return `It is aborted, and ${underWay(totals.running)} to their end.`;
    case 'running':
      return whileRunning(situation);
    case 'succeeded':
    case 'failed':
    case 'aborted':
    case 'expired':
      return '';
  }
}

function whileRunning(situation: Situation): string {
  const { spec, now, waves, totals, starts, putOff } = situation;
  const gated = waves.find((wave) => wave.state === 'waiting_for_approval');
  if (gated)
    return `Wave ${gated.number} waits for approval${gated.gate === 'second-person' ? ' by another person' : ''}.`;
  const soaking = waves.find((wave) => wave.state === 'soaking');
  if (soaking) return `Wave ${soaking.number} soaks until ${soaking.soaksUntil?.toISOString()}.`;
  if (spec.deadline !== null && spec.deadline <= now)
    return `The deadline has passed, and ${underWay(totals.running)} to their end.`;
  if (!waves.some(({ state, machines }) => state === 'running' && machines.pending > starts))
    return totals.pending + totals.running === 0 && spec.follow
      ? 'It waits for machines that come to match its filter.'
      : '';
  if (!isOpenAt(spec, now))
    return `It waits for its next window, which opens at ${nextOpening(spec, now)?.toISOString() ?? 'no time within 400 days'}.`;
  if (starts > 0) return '';
  if (putOff !== '') return putOff;
  return usedUpLimits(situation);
}

function underWay(count: number): string {
  return count === 1 ? '1 machine under way goes on' : `${count} machines under way go on`;
}
