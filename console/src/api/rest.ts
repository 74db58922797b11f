/** The REST API of nodes, images and workflows (docs/nodes.md). */
import { unattendedHeaders } from '../activity.ts';
import { endSession, sessionNumber } from '../session.ts';
import { restFailure } from './rest-failure.ts';

/** A Blob is sent as it is, everything else as JSON. */
export async function rest<T>(
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<T> {
  const session = sessionNumber();
  const isFile = body instanceof Blob;
  const type = isFile ? 'application/octet-stream' : 'application/json';
  const response = await fetch(path, {
    method,
    headers: { ...unattendedHeaders(), ...(body !== undefined && { 'content-type': type }), ...headers },
    ...(body !== undefined && { body: isFile ? body : JSON.stringify(body) }),
  });
  const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  if (response.ok) return answer as T;
  if (response.status === 401) endSession(session);
  throw restFailure(response.status, answer);
}
