/**
 * Waits for the database at the start, instead of exiting: a replica may be started before it, or while it fails over.
 *
 * The wait has no limit for causes that pass by themselves or that an operator removes: no connection, a server that is
 * starting, full or read-only, a schema that is too new for this version. A server that answers and refuses the connection (no such
 * database or user, a wrong password) may still be setting up, so that is waited for too, but only for a while: after that
 * the setting is wrong.
 */
import type { Logger } from 'pino';
import { asAway, isDatabaseAway } from '../store/database/database-away.ts';
import { SchemaTooNew } from '../store/schema/schema-version.ts';
import { sleep } from '../time/sleep.ts';
import { SETTINGS, SettingError } from './settings/settings.ts';

const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 5_000;
const MAX_REFUSED_MS = 30_000;

/** 28: the user or the password is refused. 3D: there is no such database. */
const REFUSED_CLASSES: readonly string[] = ['28', '3D'];

export interface WaitOptions {
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Shown by /readyz until the attempt succeeds. */
  readonly onWaiting: (cause: string) => Promise<void>;
  readonly monotonicNow?: () => number;
  /** For tests. */
  readonly sleepFor?: (ms: number) => Promise<void>;
}

export async function untilDatabaseReady<T>(
  attempt: () => Promise<T>,
  { log, signal, onWaiting, monotonicNow = performance.now.bind(performance), ...given }: WaitOptions,
): Promise<T> {
  const sleepFor = given.sleepFor ?? ((ms: number) => sleep(ms, signal));
  let refusedSince: number | null = null;
  for (let retry = 0; ; retry += 1) {
    signal.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      const wait = waitFor(error);
      if (!wait) throw error;
      refusedSince = wait.kind === 'refused' ? (refusedSince ?? monotonicNow()) : null;
      if (refusedSince !== null && monotonicNow() - refusedSince >= MAX_REFUSED_MS) throw asSetting(error);
      const retryMs = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** retry);
      const line = { cause: (error as Error).message || wait.code, code: wait.code, retry_ms: retryMs };
      if (wait.kind === 'schema') log.error(line, wait.message);
      else log.warn(line, wait.message);
      await onWaiting(wait.cause);
      await sleepFor(retryMs);
    }
  }
}

interface Wait {
  readonly kind: 'away' | 'refused' | 'schema';
  readonly code: string | undefined;
  readonly message: string;
  /** Holds no addresses, names or codes: every caller of /readyz sees it. */
  readonly cause: string;
}

function waitFor(error: unknown): Wait | null {
  if (!(error instanceof Error)) return null;
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof SchemaTooNew) {
    return { kind: 'schema', code, message: 'this version can not run on the schema', cause: error.message };
  }
  if (code !== undefined && REFUSED_CLASSES.includes(code.slice(0, 2))) {
    const cause = 'the database refuses the connection';
    return {
      kind: 'refused',
      code,
      message: 'waiting for the database, which refuses the connection',
      cause,
    };
  }
  if (isDatabaseAway(error)) {
    return {
      kind: 'away',
      code,
      message: 'waiting for the database',
      cause: (asAway(error, 'connecting') as Error).message,
    };
  }
  return null;
}

/** Whether the start waits until it passes. */
export function mayPass(error: unknown): boolean {
  return waitFor(error) !== null;
}

/** Never quotes the value: it may hold a password. */
export function asSetting(error: unknown): SettingError {
  const { code, message } = error as NodeJS.ErrnoException;
  return new SettingError(
    SETTINGS.databaseUrl.variable,
    `${message || 'no connection'} (${code ?? 'no code'})`,
  );
}
