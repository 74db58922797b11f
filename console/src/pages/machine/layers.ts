/** The layers of a machine's state, each with the question that it answers and what its state means. */

import { presenceLifecycle } from '../../../../src/domain/agent/presence.ts';
import { upstreamDisagreement } from '../../../../src/domain/condition/drift.ts';
import { installLifecycle } from '../../../../src/domain/install/install-state.ts';
import type { Lifecycle } from '../../../../src/domain/lifecycle/lifecycle.ts';
import type { ObservedState } from '../../../../src/domain/machine/machine.ts';
import { phaseLifecycle } from '../../../../src/domain/machine/phase.ts';
import type { ServiceState } from '../../../../src/domain/machine/service-state.ts';
import { serviceLifecycle } from '../../../../src/domain/machine/service-state.ts';

export type LayerName = 'phase' | 'service' | 'install' | 'presence';

interface LayerInfo {
  readonly title: string;
  readonly lifecycle: Lifecycle<string, string>;
  /** What stands there until the machine first needs the layer. */
  readonly absent: string;
}

export const LAYERS: Readonly<Record<LayerName, LayerInfo>> = {
  phase: { title: 'Phase', lifecycle: phaseLifecycle, absent: '' },
  service: {
    title: 'Service',
    lifecycle: serviceLifecycle,
    absent: 'It has not been onboarded, and no agent has enrolled.',
  },
  install: {
    title: 'Install',
    lifecycle: installLifecycle,
    absent: 'It has not booted from the network.',
  },
  presence: { title: 'Presence', lifecycle: presenceLifecycle, absent: 'No agent has been let in.' },
};

export const LAYER_NAMES = Object.keys(LAYERS) as LayerName[];

export const OBSERVED_QUESTION = 'What does its upstream say?';

/** A state of a newer server is shown and not explained. */
export function meaningOf(layer: LayerName, state: string): string {
  const { lifecycle, absent }: LayerInfo = LAYERS[layer];
  if (state === '') return absent;
  return lifecycle.states[state]?.meaning ?? '';
}

/** Why what its upstream says does not fit; null where it does. The server refuses and explains by the same table. */
export function observedDisagreement(
  { source, state, power, upstreamId }: Omit<ObservedState, 'at'>,
  service: ServiceState | null,
): string | null {
  return upstreamDisagreement({ observed: { source, state, power, upstreamId, at: '' } }, service);
}
