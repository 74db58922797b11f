/**
 * What a chain of steps does to a machine as it goes along: the phase and the service state that each step will find. The check
 * of a spec, and the check of each machine before a rollout, both ask this table.
 */

import { statesOf } from '../lifecycle/lifecycle.ts';
import type { Machine } from '../machine/machine.ts';
import { type Phase, phaseLifecycle } from '../machine/phase.ts';
import { HARDWARE_OPERATIONS } from '../operation/hardware-operation.ts';
import { PHASE_GATED_TYPES } from '../operation/phase-gated-type.ts';
import type { RolloutStep } from './spec/rollout-spec.ts';

export type RolloutVerb = RolloutStep['verb'];

interface VerbInChain {
  /** The phases in which it can start; null: any. */
  readonly phases: readonly Phase[] | null;
  /** The phase that it leaves; null: the one it found. */
  readonly leaves: Phase | null;
  /** What may follow it; null: anything. */
  readonly before: readonly RolloutVerb[] | null;
  /** Its end depends on more than its start shows: what comes after is checked when its turn has come. */
  readonly opaque: boolean;
}

const PLAIN = { phases: null, leaves: null, before: null, opaque: false } as const satisfies VerbInChain;

export const VERBS_IN_CHAIN = {
  'enter-maintenance': {
    ...PLAIN,
    phases: PHASE_GATED_TYPES.ENTER_MAINTENANCE.phases,
    leaves: 'MAINTENANCE',
  },
  'exit-maintenance': { ...PLAIN, phases: PHASE_GATED_TYPES.EXIT_MAINTENANCE.phases, leaves: 'READY' },
  reboot: { ...PLAIN, phases: PHASE_GATED_TYPES.REBOOT.phases },
  reimage: { ...PLAIN, phases: PHASE_GATED_TYPES.REIMAGE.phases },
  verify: PLAIN,
  plan: { ...PLAIN, opaque: true },
  onboard: { ...PLAIN, opaque: true },
  decommission: { ...PLAIN, opaque: true },
  drain: { ...PLAIN, opaque: true },
  remove: { ...PLAIN, before: [], opaque: true },
  erase: { ...PLAIN, phases: HARDWARE_OPERATIONS.ERASE.phases, before: ['remove'], opaque: true },
} as const satisfies Record<RolloutVerb, VerbInChain>;

/** The machine as the next step finds it; null: that is not known before. */
export function afterStep(machine: Machine, { verb }: RolloutStep): Machine | null {
  const { leaves, opaque }: VerbInChain = VERBS_IN_CHAIN[verb];
  if (opaque) return null;
  return leaves === null ? machine : { ...machine, phase: leaves };
}

export interface ChainProblem {
  /** From 0. */
  readonly step: number;
  readonly problem: string;
}

/** The first step that no machine could ever start, whatever its phase was before the chain; null: there is none. */
export function chainProblem(steps: readonly RolloutStep[]): ChainProblem | null {
  let phases: readonly Phase[] = statesOf(phaseLifecycle);
  for (const [index, { verb }] of steps.entries()) {
    const previous = steps[index - 1]?.verb;
    const allowedNext: readonly RolloutVerb[] | null = previous ? VERBS_IN_CHAIN[previous].before : null;
    if (previous && allowedNext !== null && !allowedNext.includes(verb))
      return {
        step: index,
        problem: `nothing but ${allowedNext.join(' or ') || 'the end'} can follow ${previous}`,
      };
    const info: VerbInChain = VERBS_IN_CHAIN[verb];
    const possible = phases.filter((phase) => info.phases?.includes(phase) ?? true);
    if (possible.length === 0)
      return {
        step: index,
        problem: `a machine is ${phases.join(' or ')} when its turn comes; ${verb} needs ${info.phases?.join(' or ')}`,
      };
    phases = info.opaque ? statesOf(phaseLifecycle) : info.leaves === null ? possible : [info.leaves];
  }
  return null;
}
