import type { Actor } from '../../domain/actor.ts';
import type { NewEvent } from '../../domain/event.ts';
import { changeEvent } from '../events/record-change.ts';

export interface RolloutChange {
  readonly rolloutId: string;
  /** The state before and after, of the rollout or of the part that the metadata names. */
  readonly from: string;
  readonly to: string;
  readonly actor: Actor;
  readonly comment?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly machineId?: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** The replica acts by itself. */
export const ROLLOUTS: Actor = { kind: 'system', id: 'rollouts' };

export function rolloutEvent({ rolloutId, ...change }: RolloutChange): NewEvent {
  return changeEvent({ kind: 'rollout', subject: rolloutId, ...change });
}
