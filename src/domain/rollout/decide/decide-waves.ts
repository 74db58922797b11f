/** Which waves open, soak and end. A wave opens when every wave before it is done and its gate is open. */

import type { RolloutSpec } from '../spec/rollout-spec.ts';
import type { WaveInView, WaveMove } from './pass-view.ts';

export interface WaveDecision {
  /** As they are after the decision. */
  readonly waves: readonly WaveInView[];
  readonly moves: readonly WaveMove[];
}

/** `waves` have the counts after the moves of the machines. Nothing opens while the rollout does not run. */
export function decideWaves(
  waves: readonly WaveInView[],
  { spec, now, mayOpen }: { readonly spec: RolloutSpec; readonly now: Date; readonly mayOpen: 'yes' | 'no' },
): WaveDecision {
  const moves: WaveMove[] = [];
  const after: WaveInView[] = [];
  for (const wave of waves) {
    const isFirstOpen = after.every(({ state }) => state === 'done');
    const moved = afterTime(wave, { spec, now, canOpen: mayOpen === 'yes' && isFirstOpen });
    after.push(moved);
    if (moved.state !== wave.state)
      moves.push({ number: wave.number, from: wave.state, to: moved.state, soaksUntil: moved.soaksUntil });
  }
  return { waves: after, moves };
}

function afterTime(
  wave: WaveInView,
  { spec, now, canOpen }: { readonly spec: RolloutSpec; readonly now: Date; readonly canOpen: boolean },
): WaveInView {
  switch (wave.state) {
    case 'waiting':
    case 'waiting_for_approval': {
      if (!canOpen) return wave;
      const isGateOpen = wave.gate === 'automatic' || wave.approvedBy !== '';
      return { ...wave, state: isGateOpen ? 'running' : 'waiting_for_approval' };
    }
    case 'running': {
      if (wave.machines.pending > 0 || wave.machines.running > 0) return wave;
      // Machines that come to match join the last wave, so that it never ends by itself.
      if (wave.isLast && spec.follow) return wave;
      if (wave.isLast || spec.soakMs === 0) return { ...wave, state: 'done', soaksUntil: null };
      return { ...wave, state: 'soaking', soaksUntil: new Date(now.getTime() + spec.soakMs) };
    }
    case 'soaking':
      return wave.soaksUntil !== null && wave.soaksUntil > now ? wave : { ...wave, state: 'done' };
    case 'done':
      // A machine of it goes on after all.
      return wave.machines.pending + wave.machines.running > 0 ? { ...wave, state: 'running' } : wave;
  }
}

/** A rollout that has ended soaks no more. `decision` is what the waves would do if it went on. */
export function wavesAtEnd(before: readonly WaveInView[], { waves, moves }: WaveDecision): WaveMove[] {
  const soaking = new Set(waves.flatMap(({ state, number }) => (state === 'soaking' ? [number] : [])));
  return [
    ...moves.filter(({ number }) => !soaking.has(number)),
    ...before
      .filter(({ number }) => soaking.has(number))
      .map(({ number, state }) => ({ number, from: state, to: 'done' as const, soaksUntil: null })),
  ];
}
