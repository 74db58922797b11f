/** The classes of refusals, and what each says to a client. How a kind looks on a wire is in surfaces/fault-wire.ts. */
export const FAULT_KINDS = {
  invalid_argument: 'the request itself is wrong: the same request fails again',
  unauthenticated: 'the token is missing, unknown, revoked or expired',
  permission_denied: 'the token is valid, and its role does not allow this',
  not_found: 'what the request names does not exist',
  already_exists: 'what the request would create exists already, or another machine has it',
  failed_precondition:
    'the request is right, and the state of the machine or the server does not allow it now',
  aborted: 'another request or stream came first: read the current state and try again',
  resource_exhausted: 'a limit is reached: try again later',
  unavailable: 'the server, or what it depends on, does not answer now: try again',
  internal: 'an error in the server: its log has the cause under the request id',
} as const satisfies Record<string, string>;

export type FaultKind = keyof typeof FAULT_KINDS;
