/** The errors that agents get: the statuses, messages and codes that agents in the field rely on. */

interface AgentErrorRow {
  readonly status: number;
  readonly message: string;
  /** What programs branch on; null where agents get a message alone. */
  readonly errorCode: string | null;
  readonly cause: string;
  readonly fix: string;
}

export const AGENT_ERRORS = {
  INVALID_TOKEN: {
    status: 403,
    message: 'Invalid token',
    errorCode: 'invalid_token',
    cause:
      "no token, one that is unknown, expired, replaced or another machine's, or a registration for another pool or provider than the token's; `revoked: true` says that it was revoked for good",
    fix: 'give the agent a new token: `ingot machine create`',
  },
  INVALID_PAYLOAD: {
    status: 400,
    message: 'Invalid payload',
    errorCode: 'invalid_payload',
    cause:
      'the body is not a JSON object, or a field is missing or wrong: `detail` names it. 413: larger than 16 KiB; 415: not JSON by its content type',
    fix: 'correct the field',
  },
  MISSING_ADDRESS: {
    status: 400,
    message: 'machine_id and pool_name are required',
    errorCode: null,
    cause: 'a keepalive names no machine or no pool',
    fix: 'send both',
  },
  INVALID_POOL: {
    status: 500,
    message: 'Invalid pool name',
    errorCode: 'invalid_pool',
    cause: 'the pool of the registration does not exist',
    fix: 'correct the pool in the configuration of the agent, or create the pool',
  },
  REGISTRATION_FAILED: {
    status: 500,
    message: 'Failed to register machine',
    errorCode: 'registration_failed',
    cause:
      'the registration was not stored: Redis (500) or the database (503) is away; `detail` has the cause',
    fix: 'try again; agents do it by themselves',
  },
  KEEPALIVE_FAILED: {
    status: 500,
    message: 'Failed to store keepalive',
    errorCode: 'keepalive_failed',
    cause: 'the keepalive was not stored: Redis (500) or the database (503) is away; `detail` has the cause',
    fix: 'try again; agents do it by themselves',
  },
  MACHINE_NOT_FOUND: {
    status: 500,
    message: 'Machine state expired',
    errorCode: 'machine_not_found',
    cause: 'a keepalive without a live entry, or for another pool or provider',
    fix: 'register again; agents do it by themselves',
  },
  TRY_AGAIN: {
    status: 503,
    message: 'too many calls; try again later',
    errorCode: 'try_again',
    cause: 'more calls wait than a replica takes (100,000)',
    fix: 'try again after the seconds in retry-after; agents do it by themselves',
  },
  RATE_LIMITED: {
    status: 429,
    message: 'too many calls; try again later',
    errorCode: 'rate_limited',
    cause: 'more calls of one machine, or more wrong tokens from one address, than [limits](limits.md) allow',
    fix: 'try again after the seconds in retry-after; agents do it by themselves',
  },
  UNAVAILABLE: {
    status: 503,
    message: 'service unavailable',
    errorCode: null,
    cause: 'the database does not answer',
    fix: 'try again; agents do it by themselves',
  },
  INTERNAL: {
    status: 500,
    message: 'internal error',
    errorCode: null,
    cause: 'an error in the server',
    fix: 'find the request id of `detail` in the log of the server',
  },
} as const satisfies Record<string, AgentErrorRow>;
