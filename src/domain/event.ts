import { type Grant, mayCall } from './access/caller.ts';
import type { Actor } from './actor.ts';
import type { OperationProgress } from './operation/operation.ts';

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
  | 'token'
  | 'plan'
  | 'pool'
  | 'image'
  | 'workflow'
  | 'node'
  | 'session'
  | 'settings'
  | 'access'
  | 'audit'
  | 'budget'
  | 'rollout'
  | 'view'
  | 'hardware'
  | 'console';

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
  'plan',
  'pool',
  'image',
  'workflow',
  'node',
  'session',
  'settings',
  'access',
  'audit',
  'budget',
  'rollout',
  'view',
  'hardware',
  'console',
] as const satisfies readonly EventKind[];

/**
 * Events of these kinds are for some roles only: a caller who may not list tokens may not read their events either, and who
 * signs in, what is refused and how the server is configured is for admins.
 */
const FOR_ADMINS: readonly EventKind[] = ['token', 'session', 'settings', 'access', 'audit'];

export function isForAdmins(kind: EventKind): boolean {
  return FOR_ADMINS.includes(kind);
}

const LIST_TOKENS = 'baremetal.admin.v1.AdminService/ListTokens';

/** They are about the whole server, so a caller with a scope never sees them. */
export function hiddenKinds(grant: Grant): readonly EventKind[] {
  return grant.scope === null && mayCall(grant, LIST_TOKENS, 'admin') ? [] : FOR_ADMINS;
}

export interface NewEvent {
  readonly kind: EventKind;
  /** The machine, step, condition or token that changed, where the kind alone does not say. */
  readonly subject: string;
  readonly from: string;
  readonly to: string;
  readonly actor: Actor;
  readonly comment: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly machineId: string | null;
  readonly operationId: string | null;
  readonly snapshot: OperationProgress | null;
  /** Which fields changed; not set where `from` and `to` say all of it. */
  readonly changes?: readonly FieldChange[];
}

/** A field before and after a change, as text; empty: it had, or has, no value. Never a secret. */
export interface FieldChange {
  readonly field: string;
  readonly before: string;
  readonly after: string;
}
