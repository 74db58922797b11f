/**
 * Tokens that the front has just looked up, and that no machine has. The ordinary way refuses them, and would ask the database
 * again: a flood of wrong tokens would cost it twice as much.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** Revoked: for good. Null: unknown. */
export type RefusedToken = 'revoked' | null;

interface Refused {
  readonly authorization: string;
  readonly found: RefusedToken;
}

/** Of the request that a connection is handed over with. */
const refused = new WeakMap<Socket, Refused>();

export function noteRefusedToken(socket: Socket, authorization: string, found: RefusedToken): void {
  refused.set(socket, { authorization, found });
}

/** Undefined: the token was not looked up. Only the first request of the connection asks, because tokens change. */
export function takeRefusedToken({ socket, headers }: IncomingMessage): RefusedToken | undefined {
  const noted = refused.get(socket);
  if (noted === undefined) return undefined;
  refused.delete(socket);
  return noted.authorization === headers.authorization ? noted.found : undefined;
}
