import { isFailureCode } from '../../domain/error/failure-code.ts';
import type { FaultKind } from '../../domain/error/fault-kind.ts';
import { REASONS } from '../../domain/error/reason.ts';
import type { Exit } from './exit-code.ts';

const EXIT_OF_KIND = {
  invalid_argument: 'usage',
  unauthenticated: 'notAllowed',
  permission_denied: 'notAllowed',
  not_found: 'failed',
  already_exists: 'precondition',
  failed_precondition: 'precondition',
  aborted: 'failed',
  resource_exhausted: 'failed',
  unavailable: 'failed',
  internal: 'failed',
} as const satisfies Record<FaultKind, Exit>;

/** The exit of a start that was refused for this reason, as if the command had asked for it alone. */
export function exitOfReason(reason: string): Exit {
  if (Object.hasOwn(REASONS, reason)) return EXIT_OF_KIND[REASONS[reason as keyof typeof REASONS].kind];
  // A start that could only fail is refused with the failure that it would end with.
  return isFailureCode(reason) ? 'precondition' : 'failed';
}
