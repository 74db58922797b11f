/** Why the server cannot answer a request that is right. */
import type { ReasonRow } from './reason-row.ts';

export const SERVER_REASONS = {
  INTERNAL: {
    kind: 'internal',
    message: 'internal error (request <id>)',
    cause: 'an error in the server that no rule foresees',
    fix: 'find the request id in the log of the server: the entry has the cause',
  },
  DATABASE_UNAVAILABLE: {
    kind: 'unavailable',
    message: '<what the database does not do>; try again',
    cause: 'the database refuses connections, does not answer, or is read-only',
    fix: 'try again; if it lasts, see what /readyz of the server names',
  },
  PRESENCE_UNAVAILABLE: {
    kind: 'unavailable',
    message: 'the store of keepalives does not answer; try again',
    cause: 'the Redis that keeps the keepalives of agents is down or unreachable',
    fix: 'try again; if it lasts, bring the Redis that INGOT_PRESENCE_URL names back',
  },
  AUDIT_KEY_ELSEWHERE: {
    kind: 'failed_precondition',
    message: 'this replica does not have the key that signs the audit chain',
    cause:
      'the replica that was asked has another audit key than the one that signs, or one that was rotated',
    fix: 'copy the file of the audit key from the host that has it, or ask a replica there',
  },
  AUDIT_KEY_NOT_WRITABLE: {
    kind: 'failed_precondition',
    message: 'the file of the audit key can not be replaced by the server',
    cause: 'the directory of audit.key_file is not writable for the user that runs the server',
    fix: 'let the server write to that directory; the log has its path and the error',
  },
  AUDIT_KEY_REPLACED: {
    kind: 'failed_precondition',
    message: 'the audit chain is signed by <key>, not by <the key of the request>',
    cause: 'the key that the request names was replaced before, by the same call or by another',
    fix: 'read the key that signs now, and replace that one if it still has to be',
    commands: ['ingot audit key'],
  },
  SERVER_STOPPING: {
    kind: 'unavailable',
    message: 'the server is stopping; resume from the last cursor',
    cause: 'the replica that served the stream shuts down',
    fix: 'open the stream again with the last cursor: another replica, or the restarted one, continues it',
  },
  WATCH_TOO_SLOW: {
    kind: 'aborted',
    message: 'the stream was not read for too long; resume from the last cursor',
    cause: 'the client did not read the next message of the stream for 60 seconds',
    fix: 'open the stream again with the last cursor, and read it faster',
  },
  TOO_MANY_CALLS: {
    kind: 'unavailable',
    message: 'too many calls; try again later',
    cause: 'more registrations of agents wait than the server takes at a time',
    fix: 'try again after the seconds in retry-after; agents do it by themselves',
  },
  UPSTREAM_MACHINES_MISSING: {
    kind: 'unavailable',
    message: 'too many machines in use are no longer listed at once',
    cause: 'an upstream such as MAAS lists far fewer machines than before, so none counts as absent',
    fix: 'find out why the upstream lists so few; the reason is in the log and on /readyz, not in an answer',
  },
} as const satisfies Record<string, ReasonRow>;
