/** Document 4's REST API, for nodes, images and workflows. */
import { signOut, tokenOfSession } from '../session.ts';

export class RestFailure extends Error {
  readonly status: number;
  readonly advice: string;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
    this.advice = status === 403 ? 'Sign in with a token of a higher role.' : '';
  }
}

export async function rest<T>(method: string, path: string, body?: unknown): Promise<T> {
  const token = tokenOfSession();
  const response = await fetch(path, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  if (response.ok) return answer as T;
  if (response.status === 401 && token === tokenOfSession())
    signOut('Your token is not known any more: it was revoked or has expired. Sign in with another.');
  const said = [answer.message, answer.detail, answer.error, answer.title].find(
    (text) => typeof text === 'string' && text !== '',
  );
  throw new RestFailure(response.status, String(said ?? `the server answered ${response.status}`));
}
