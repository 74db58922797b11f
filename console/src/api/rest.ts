/** The REST API of nodes, images and workflows (docs/nodes.md). */
import { endSessionOf, sessionToken } from '../session.ts';

export class RestFailure extends Error {
  readonly status: number;
  readonly advice: string;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
    this.advice = status === 403 ? 'Sign in with a token that has a higher role.' : '';
  }
}

export async function rest<T>(method: string, path: string, body?: unknown): Promise<T> {
  const token = sessionToken();
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
  if (response.status === 401) endSessionOf(token);
  const message = [answer.message, answer.detail, answer.error, answer.title].find(
    (text) => typeof text === 'string' && text !== '',
  );
  throw new RestFailure(
    response.status,
    String(message ?? `the server responded with status ${response.status}`),
  );
}
