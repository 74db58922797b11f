/**
 * How a connection failed, in words, and who sees them. Every text that says so has the form "… not reachable (words)". Operators see
 * the words. Viewers see "not reachable": whether a port refuses, or a name exists, tells a stranger what is in a network.
 */

export type ConnectReason =
  | 'ConnectRefused'
  | 'ConnectTimeout'
  | 'ConnectFailed'
  | 'NoRoute'
  | 'NameNotFound';

const PROBLEMS: Readonly<Record<string, readonly [ConnectReason, string]>> = {
  ECONNREFUSED: ['ConnectRefused', 'connection refused'],
  ECONNRESET: ['ConnectFailed', 'connection reset'],
  EPIPE: ['ConnectFailed', 'connection reset'],
  EHOSTUNREACH: ['NoRoute', 'no route to the host'],
  ENETUNREACH: ['NoRoute', 'no route to the network'],
  ENOTFOUND: ['NameNotFound', 'the name is not known'],
  EAI_AGAIN: ['NameNotFound', 'the name could not be looked up'],
  ETIMEDOUT: ['ConnectTimeout', 'no answer'],
};

/** By the code of a system error. A code that has no row is not repeated: it is the kernel's word, not ours. */
export function connectionProblem(code: unknown): readonly [ConnectReason, string] {
  return PROBLEMS[String(code)] ?? ['ConnectFailed', 'the connection failed'];
}

/** For a sentence such as "10.0.0.5:22 is …". */
export function notReachable(words: string): string {
  return `not reachable (${words})`;
}

const DETAILS = /\bnot reachable \([^()]*\)/g;

/** Reasons of conditions that say how a connection failed. */
const REASONS: ReadonlySet<string> = new Set([
  'ConnectRefused',
  'ConnectTimeout',
  'ConnectFailed',
  'NoRoute',
  'NameNotFound',
  'AddressNotAllowed',
] satisfies (ConnectReason | 'AddressNotAllowed')[]);

/** In the metadata of an event, which is JSON. */
const REASON_IN_JSON = new RegExp(`("reason": ?")(?:${[...REASONS].join('|')})"`, 'g');

/** The text as viewers see it. */
export function withoutDetails(text: string): string {
  if (REASONS.has(text)) return 'NotReachable';
  const inJson = text.includes('"reason":') ? text.replace(REASON_IN_JSON, '$1NotReachable"') : text;
  return inJson.includes('not reachable (') ? inJson.replace(DETAILS, 'not reachable') : inJson;
}
