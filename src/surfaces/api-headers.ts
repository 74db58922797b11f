/** Headers that every answer of the HTTP port has, also one that no route wrote. The console's own files may be cached. */
import type { FastifyInstance } from 'fastify';

export const API_HEADERS = {
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
} as const;

export function addApiHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(API_HEADERS);
    done();
  });
}
