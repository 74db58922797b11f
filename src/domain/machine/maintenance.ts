/** Maintenance that a machine is in: since when, until when, why, on whose order (docs/maintenance.md). */
import { invalidField, missingField } from '../error/fault.ts';
import { readDuration } from '../rollout/spec/duration-text.ts';
import { checkText } from './machine-input.ts';
import type { Phase } from './phase.ts';

export interface Maintenance {
  readonly since: string;
  /** Null: without end. */
  readonly until: string | null;
  readonly reason: string;
  /** As "role:name"; empty where a failed run brought it there. */
  readonly by: string;
  /** The server ends it when it is over. */
  readonly exitsByItself: boolean;
}

/** What an operation that enters maintenance asks for. */
export interface MaintenanceOrder {
  readonly durationMs: number | null;
  readonly reason: string;
  readonly by: string;
  readonly exitsByItself: boolean;
}

interface MaintainedMachine {
  readonly phase: Phase;
  readonly maintenance: Maintenance | null;
}

export function isMaintenanceOverdue({ phase, maintenance }: MaintainedMachine, now: Date): boolean {
  return (
    phase === 'MAINTENANCE' && maintenance?.until != null && Date.parse(maintenance.until) <= now.getTime()
  );
}

/** A second order replaces the first: only the start of the maintenance stays. */
export function maintenanceAfter(
  before: MaintainedMachine,
  phase: Phase,
  order: MaintenanceOrder | undefined,
  at: Date,
): Maintenance | null {
  if (phase !== 'MAINTENANCE') return null;
  const current = before.phase === 'MAINTENANCE' ? before.maintenance : null;
  if (order === undefined && before.phase === 'MAINTENANCE') return current;
  const { durationMs = null, reason = '', by = '', exitsByItself = false } = order ?? {};
  return {
    since: current?.since ?? at.toISOString(),
    until: durationMs === null ? null : new Date(at.getTime() + durationMs).toISOString(),
    reason,
    by,
    exitsByItself,
  };
}

type Params = Readonly<Record<string, string>>;

/** The parameters of ENTER_MAINTENANCE as they are kept with the operation. Throws a fault that names the field. */
export function maintenanceParams({
  duration = '',
  reason = '',
  exit_when_over: exits = '',
}: Params): Params {
  if (duration !== '' && readDuration(duration, 'duration') === 0)
    throw invalidField('duration', 'must be longer than 0s');
  if (!['', 'true', 'false'].includes(exits)) throw invalidField('exit_when_over', 'must be true or false');
  if (exits === 'true' && duration === '') throw missingField('duration');
  const text = reason.trim() === '' ? '' : checkText(reason, 'reason', 1000);
  return {
    ...(duration !== '' && { duration: duration.trim() }),
    ...(text !== '' && { reason: text }),
    ...(exits === 'true' && { exit_when_over: 'true' }),
  };
}

/** `params` are those that maintenanceParams returned. */
export function maintenanceOrder(
  { duration, reason = '', exit_when_over: exits }: Params,
  by: string,
): MaintenanceOrder {
  return {
    durationMs: duration === undefined ? null : readDuration(duration, 'duration'),
    reason,
    by,
    exitsByItself: exits === 'true',
  };
}
