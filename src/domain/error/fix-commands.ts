/** The commands that fix what a reason names, from the rows of reasons and of failure codes. */
import { FAILURES, isFailureCode } from './failure-code.ts';
import type { FailureRow } from './failures/advice.ts';
import { REASONS, type Reason } from './reason.ts';
import { CLIENT_REASONS } from './reasons/client-reasons.ts';
import type { ReasonRow } from './reasons/reason-row.ts';

/**
 * The {names} in `commands` that are not in the metadata of the fault: the command line fills them in itself. The
 * documentation shows them as they are here.
 */
export const FIX_NAMES = {
  ingot: 'ingot',
  list_operations: 'ops',
  show_operation: 'op show',
  watch_operation: 'op watch',
  cancel_operation: 'cancel',
  /** The id of the operation, as the API that was called spells it. */
  operation: '<operation_id>',
  token_origin: '<where it was found>',
  server_address: '<address>',
  /** Only for a server on this machine. */
  start_server: 'npm start',
} as const satisfies Record<string, string>;

export type FixValues = Readonly<Record<keyof typeof FIX_NAMES, string | undefined>>;

/** A reason of another version has no row, and so no fix. */
export function fixCommands(reason: string): readonly string[] {
  return rowOf(reason)?.commands ?? [];
}

function rowOf(reason: string): ReasonRow | FailureRow | undefined {
  if (Object.hasOwn(REASONS, reason)) return REASONS[reason as Reason];
  if (isFailureCode(reason)) return FAILURES[reason];
  if (Object.hasOwn(CLIENT_REASONS, reason)) return CLIENT_REASONS[reason as keyof typeof CLIENT_REASONS];
  return undefined;
}

/** Fills in the {names} of a command; null when a value is not known. */
export function fillIn(command: string, values: Readonly<Record<string, string | undefined>>): string | null {
  const names = [...command.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  if (names.some((name) => values[name] === undefined)) return null;
  return command.replace(/\{(\w+)\}/g, (_match, name: string) => values[name] ?? '');
}
