/** Why no connection was made, in words: the library's own text names its parts and the codes of the system. */
const PROBLEMS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused: nothing listens there',
  ECONNRESET: 'the connection was closed',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ETIMEDOUT: 'the connection timed out',
  ENOTFOUND: 'the name is not known',
  EAI_AGAIN: 'the name could not be looked up',
};

export function connectionProblem(message: string): string {
  if (message.startsWith('Name resolution failed')) return 'the name is not known';
  const [, code = ''] = /\b(E[A-Z_]{4,})\b/.exec(message) ?? [];
  const [, last = message] = /Last error: (?:Error: )?(.*?)\.?(?: Resolution note:.*)?$/s.exec(message) ?? [];
  return PROBLEMS[code] ?? last;
}
