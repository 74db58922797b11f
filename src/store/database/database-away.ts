/**
 * Errors about the database itself and not about the statement: the same call may pass later. They are one closed table, and
 * leave this folder as one class, so that no other part reads codes or messages. A caller gets UNAVAILABLE with the
 * cause; the engine counts neither a death nor an attempt.
 */
import pg from 'pg';
import { StoreAway } from '../../engine/job-store.ts';
import { NoServer } from './database-hosts.ts';

/**
 * What an error means for readiness. lasts: the replica is not ready until a probe has passed. ask: maybe only one connection
 * is lost, a probe decides. passes: only this call is affected.
 */
type Effect = 'lasts' | 'ask' | 'passes';

interface AwayKind {
  /** For callers, /readyz and the log: no address, no value. */
  readonly cause: string;
  readonly effect: Effect;
  /** SQLSTATE, or its first characters. */
  readonly codes: readonly string[];
}

export const AWAY_KINDS = {
  disk_full: { cause: "the database's disk is full", effect: 'lasts', codes: ['53100'] },
  out_of_memory: { cause: 'the database is out of memory', effect: 'lasts', codes: ['53200'] },
  too_many_connections: {
    cause: 'the database accepts no more connections',
    effect: 'lasts',
    codes: ['53300'],
  },
  out_of_resources: { cause: 'the database is out of resources', effect: 'lasts', codes: ['53'] },
  io_error: {
    cause: 'the database can not read or write its files; its disk may be full',
    effect: 'lasts',
    codes: ['58'],
  },
  read_only: { cause: 'the database is read-only', effect: 'lasts', codes: ['25006'] },
  login_refused: {
    cause: 'the database refuses the login of this server',
    effect: 'lasts',
    codes: ['28', '3D000'],
  },
  stopping: { cause: 'the database is stopping', effect: 'ask', codes: ['57P01', '57P04', '57P05'] },
  crashed: { cause: 'the database crashed and is being restarted', effect: 'ask', codes: ['57P02'] },
  starting: { cause: 'the database is starting', effect: 'ask', codes: ['57P03'] },
  connection_lost: {
    cause: 'the connection to the database was lost',
    effect: 'ask',
    codes: ['08', '25P03', '25P04'],
  },
  unreachable: { cause: 'the database does not answer', effect: 'lasts', codes: [] },
  no_server: { cause: "none of the database's servers takes writes", effect: 'lasts', codes: [] },
  too_slow: { cause: 'the database took too long', effect: 'passes', codes: ['57014', '55P03'] },
  conflict: {
    cause: 'the database ended this to let another change pass',
    effect: 'passes',
    codes: ['40'],
  },
} as const satisfies Record<string, AwayKind>;

export type AwayKindName = keyof typeof AWAY_KINDS;

export class DatabaseAway extends StoreAway {
  override readonly name = 'DatabaseAway';
  readonly kind: AwayKindName;
  /** From PostgreSQL or the system call. */
  readonly code: string;

  /** `before`: an earlier error that caused this one. */
  constructor(kind: AwayKindName, cause: unknown, before?: AwayKindName) {
    const message = AWAY_KINDS[kind].cause;
    super(before === undefined ? message : `${message}; before that: ${AWAY_KINDS[before].cause}`, { cause });
    this.kind = kind;
    this.code = codeOf(cause);
  }

  get effect(): Effect {
    return AWAY_KINDS[this.kind].effect;
  }
}

/** When an error occurred: one while connecting can only be about the connection. */
type Stage = 'connecting' | 'running';

/** A DatabaseAway where the database is away; any other error unchanged. */
export function asAway(error: unknown, stage: Stage = 'running'): unknown {
  const kind = kindOf(error, stage);
  return kind === null ? error : new DatabaseAway(kind, error);
}

/** Also for errors of the driver itself. */
export function isDatabaseAway(error: unknown): boolean {
  return asAway(error) instanceof DatabaseAway;
}

const LOST_MESSAGES =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|Query read timeout|timeout expired|write after end)/;

function kindOf(error: unknown, stage: Stage): AwayKindName | null {
  if (error instanceof DatabaseAway || !(error instanceof Error)) return null;
  if (error instanceof pg.DatabaseError) return kindOfCode(error.code ?? '') ?? kindOfFatal(error, stage);
  if (error instanceof NoServer) return 'no_server';
  if (stage === 'connecting') return 'unreachable';
  const bySystem = /^(E[A-Z]+|EAI_[A-Z]+|ERR_STREAM_.*)$/.test(codeOf(error));
  return bySystem || LOST_MESSAGES.test(error.message) ? 'connection_lost' : null;
}

/** An error that ends the connection is not about the statement. Some versions have no code for files that can't be written. */
function kindOfFatal({ severity, message }: pg.DatabaseError, stage: Stage): AwayKindName | null {
  if (severity !== 'FATAL' && severity !== 'PANIC') return null;
  if (/^could not (write|create|open|read|extend|flush|fsync) /.test(message)) return 'io_error';
  return stage === 'connecting' ? 'unreachable' : 'connection_lost';
}

/** A whole code takes precedence over its first two characters. */
function kindOfCode(code: string): AwayKindName | null {
  const kinds = Object.entries(AWAY_KINDS) as [AwayKindName, AwayKind][];
  const matching = (part: string) => kinds.find(([, { codes }]) => codes.includes(part))?.[0] ?? null;
  return matching(code) ?? matching(code.slice(0, 2));
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : '';
  return typeof code === 'string' ? code : '';
}
