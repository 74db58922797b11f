/** A long answer ends with the credentials of its caller, as the streams of gRPC and Connect do. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../domain/access/caller.ts';
import type { Authenticator } from '../access/authenticator.ts';
import { credentialsOfRequest } from '../access/credentials.ts';
import type { OpenStreams } from '../access/open-streams.ts';

export interface EndDependencies {
  readonly authenticator: Authenticator;
  readonly streams: OpenStreams;
}

/**
 * Called before the answer is sent; throws where the caller is not let in any more. An answer that was started can't be taken
 * back, so its connection is closed, or with HTTP/2 its stream: the client sees that the answer is not whole.
 */
export async function endWithCaller(
  { authenticator, streams }: EndDependencies,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  caller: Caller,
): Promise<void> {
  const credentials = credentialsOfRequest(request);
  const check = () => authenticator.callerAgain(credentials);
  const stream = streams.open(caller, check);
  stream.signal.addEventListener('abort', () => reply.raw.destroy(), { once: true });
  reply.raw.once('close', () => stream.close());
  // It may have been revoked after it was let in, before the stream was known here.
  await check();
}
