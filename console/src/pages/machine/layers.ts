/** The layers of a machine's state, each with the question that it answers and the meaning of its states. */

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
}

export const LAYERS: Readonly<Record<LayerName, LayerInfo>> = {
  phase: { title: 'Phase', lifecycle: phaseLifecycle },
  service: { title: 'Service', lifecycle: serviceLifecycle },
  install: { title: 'Install', lifecycle: installLifecycle },
  presence: { title: 'Presence', lifecycle: presenceLifecycle },
};

export const LAYER_NAMES = Object.keys(LAYERS) as LayerName[];

export const OBSERVED_QUESTION = 'What does its upstream report?';

/** Empty for a state that only a newer server knows. */
export function meaningOf(layer: LayerName, state: string): string {
  return LAYERS[layer].lifecycle.states[state]?.meaning ?? '';
}

/** Why the upstream's state contradicts ours; null if it does not. The server uses the same table. */
export function observedDisagreement(
  { source, state, power, upstreamId }: Omit<ObservedState, 'at'>,
  service: ServiceState | null,
): string | null {
  return upstreamDisagreement({ observed: { source, state, power, upstreamId, at: '' } }, service);
}
