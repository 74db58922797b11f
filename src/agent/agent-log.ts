/** The agent's log: one line per event, for the journal of the machine. */

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export type EventLevel = Exclude<LogLevel, 'silent'>;
export type LogFields = Readonly<Record<string, string | number | undefined>>;
export type AgentLog = (level: EventLevel, event: string, fields?: LogFields) => void;

export interface AgentLogOptions {
  readonly level: LogLevel;
  readonly write: (line: string) => void;
  readonly now: () => number;
  /** Redacted in every line: a server could send the token back in its response. */
  readonly secrets: () => readonly string[];
}

const LONGEST_VALUE = 300;

export function createAgentLog({ level, write, now, secrets }: AgentLogOptions): AgentLog {
  const least = LOG_LEVELS.indexOf(level);
  return (of, event, fields = {}) => {
    if (LOG_LEVELS.indexOf(of) < least) return;
    const words = Object.entries(fields).flatMap(([key, value]) =>
      value === undefined ? [] : [`${key}=${written(without(secrets(), String(value)))}`],
    );
    const time = new Date(now()).toISOString();
    write(`${[time, of.padEnd(5), event, ...words].join(' ')}\n`);
  };
}

function without(secrets: readonly string[], text: string): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '[token]'), text);
}

/** In quotes, with line breaks and terminal control characters escaped. */
function written(value: string): string {
  const short = value.length > LONGEST_VALUE ? `${value.slice(0, LONGEST_VALUE)}…` : value;
  if (/^[\w.:/@%+,-]+$/.test(short)) return short;
  return JSON.stringify(short).replace(
    /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
