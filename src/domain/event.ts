import type { Actor } from './actor.ts';
import type { OperationProgress } from './operation.ts';

/** Which lifecycle or record an event is about. */
export type EventKind =
  | 'machine'
  | 'phase'
  | 'service'
  | 'install'
  | 'presence'
  | 'observed'
  | 'condition'
  | 'operation'
  | 'step'
  | 'progress'
  | 'token';

export const EVENT_KINDS = [
  'machine',
  'phase',
  'service',
  'install',
  'presence',
  'observed',
  'condition',
  'operation',
  'step',
  'progress',
  'token',
] as const satisfies readonly EventKind[];

export interface NewEvent {
  readonly kind: EventKind;
  /** The machine, the step, the condition, the token: what changed, where the kind alone does not say. */
  readonly subject: string;
  readonly from: string;
  readonly to: string;
  readonly actor: Actor;
  readonly comment: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly machineId: string | null;
  readonly operationId: string | null;
  readonly snapshot: OperationProgress | null;
}
