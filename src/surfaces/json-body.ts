/** JSON bodies, for every route that does not read its own: UTF-8, and no text in them that could not be stored. */
import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import { notUtf8, unstorableText } from './bad-body.ts';
import { unstorablePath } from './storable.ts';

/** A raw NUL is no JSON; what remains is written as an escape. Most bodies have none, and need no second look. */
const ESCAPE = /\\u(?:0000|d[89a-f])/i;

export function readJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    if (!isUtf8(bytes)) return done(notUtf8());
    const text = bytes.toString('utf8');
    return parse(request, text, (error, body: unknown) => {
      const path = error || !ESCAPE.test(text) ? null : unstorablePath(body);
      if (path) return done(unstorableText(path));
      return done(error, body);
    });
  });
}
