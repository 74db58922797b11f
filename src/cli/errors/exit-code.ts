import { type StatusCode, status } from '../connection/status.ts';
import type { OperationPhase } from '../operations/operation-view.ts';

/** The exit codes, for scripts. `--help` prints this table. */
export const EXIT_CODES = {
  ok: { code: 0, meaning: 'ok' },
  failed: { code: 1, meaning: 'failed, not found, or the server does not respond' },
  canceled: { code: 2, meaning: 'canceled, or declined at the question' },
  notAllowed: { code: 4, meaning: 'not allowed: no token, or its role is too low' },
  precondition: { code: 5, meaning: 'refused: the machine or operation is not in a state for it' },
  stillRunning: { code: 8, meaning: 'still running: --timeout passed, or Ctrl-C detached' },
  usage: { code: 64, meaning: 'wrong command, option or value' },
} as const satisfies Record<string, { code: number; meaning: string }>;

export type Exit = keyof typeof EXIT_CODES;

export const EXIT_OF_STATUS = {
  [status.OK]: 'ok',
  [status.CANCELLED]: 'failed',
  [status.UNKNOWN]: 'failed',
  [status.INVALID_ARGUMENT]: 'usage',
  [status.DEADLINE_EXCEEDED]: 'failed',
  [status.NOT_FOUND]: 'failed',
  [status.ALREADY_EXISTS]: 'precondition',
  [status.PERMISSION_DENIED]: 'notAllowed',
  [status.RESOURCE_EXHAUSTED]: 'failed',
  [status.FAILED_PRECONDITION]: 'precondition',
  [status.ABORTED]: 'failed',
  [status.OUT_OF_RANGE]: 'usage',
  [status.UNIMPLEMENTED]: 'failed',
  [status.INTERNAL]: 'failed',
  [status.UNAVAILABLE]: 'failed',
  [status.DATA_LOSS]: 'failed',
  [status.UNAUTHENTICATED]: 'notAllowed',
} as const satisfies Record<StatusCode, Exit>;

export const EXIT_OF_PHASE = {
  '?': 'stillRunning',
  PENDING: 'stillRunning',
  RUNNING: 'stillRunning',
  SUCCEEDED: 'ok',
  FAILED: 'failed',
  CANCELED: 'canceled',
} as const satisfies Record<OperationPhase, Exit>;

/** The exit of a command with several results is the first of these that occurred. */
const WORST_FIRST = [
  'failed',
  'notAllowed',
  'usage',
  'precondition',
  'canceled',
  'stillRunning',
  'ok',
] as const;

export function worstExit(exits: Iterable<Exit>): Exit {
  const seen = new Set(exits);
  return WORST_FIRST.find((exit) => seen.has(exit)) ?? 'ok';
}
