import pino, { type Logger } from 'pino';
import type { Settings } from './settings/settings.ts';

/** JSON lines on stderr; every line of a worker carries its number. */
export function serverLog(settings: Settings, base: Readonly<Record<string, unknown>> | null = null): Logger {
  return pino(
    { level: settings.logLevel, base: base === null ? null : { ...base }, serializers: { err: loggedError } },
    pino.destination({ dest: 2, sync: true }),
  );
}

/** Only these fields: the error of a library may hold its whole connection, keys included. */
function loggedError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack } = error;
  const { code } = error as NodeJS.ErrnoException;
  return { name, message, ...(code === undefined ? {} : { code }), stack };
}
