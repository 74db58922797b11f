/**
 * Parses JSON bodies, for routes that have no parser of their own: UTF-8, without text that PostgreSQL cannot store, and
 * not too complex to be read in a few milliseconds.
 */
import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import { notUtf8, tooComplex, unstorableText } from './bad-body.ts';
import { tooManyValues } from './limits/json-values.ts';
import { MESSAGE_LIMITS } from './limits/message-limits.ts';
import { unstorablePath } from './storable.ts';

/** JSON has no raw NUL, so only escapes need a check; most bodies have none. */
const ESCAPE = /\\u(?:0000|d[89a-f])/i;

export function readJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    if (!isUtf8(bytes)) return done(notUtf8());
    const problem = tooManyValues(bytes, MESSAGE_LIMITS);
    if (problem) return done(tooComplex(problem));
    const text = bytes.toString('utf8');
    return parse(request, text, (error, body: unknown) => {
      const path = error || !ESCAPE.test(text) ? null : unstorablePath(body);
      if (path) return done(unstorableText(path));
      return done(error, body);
    });
  });
}
