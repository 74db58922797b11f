/** The REST API of nodes, images and workflows (docs/nodes.md). */
import { unattendedHeaders } from '../activity.ts';
import { endSession, sessionNumber } from '../session.ts';
import { restFailure } from './rest-failure.ts';

export async function rest<T>(method: string, path: string, body?: unknown): Promise<T> {
  const session = sessionNumber();
  const response = await fetch(path, {
    method,
    headers: {
      ...unattendedHeaders(),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  if (response.ok) return answer as T;
  if (response.status === 401) endSession(session);
  throw restFailure(response.status, answer);
}
