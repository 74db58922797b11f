/**
 * The web console: the files of its build, served unchanged. The console has client-side routes, so every path that
 * no other route serves is index.html. It may load only from this server, no inline script runs, and of inline styles those of
 * index.html: its first paint waits for nothing else.
 */
import { access } from 'node:fs/promises';
import { extname, join } from 'node:path';
import send from '@fastify/send';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { styleDigests } from './page-styles.ts';

export interface ConsoleFilesOptions {
  /** The folder that holds index.html. */
  readonly root: string;
}

const policy = (styles: readonly string[]): string =>
  [
    `default-src 'none'`,
    `script-src 'self'`,
    ['style-src', `'self'`, ...styles].join(' '),
    `img-src 'self' data:`,
    `font-src 'self'`,
    `connect-src 'self'`,
    `base-uri 'none'`,
    `form-action 'none'`,
    `frame-ancestors 'none'`,
  ].join('; ');

const SECURITY_HEADERS = {
  'content-security-policy': policy([]),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'x-frame-options': 'DENY',
} as const;

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json; charset=utf-8',
  '.woff2': 'font/woff2',
};

/** Best compression first. */
const ENCODINGS = { br: '.br', gzip: '.gz' } as const;

/**
 * File names start with a letter, a digit or an underscore and hold only these characters, so that no path leaves the
 * folder.
 */
const FILE = /^[A-Za-z0-9_][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_][A-Za-z0-9._-]*)*$/;
const MAX_PATH = 512;
const INDEX = 'index.html';

/** Paths below these are never pages, whether a file exists or not. */
const NOT_PAGES = ['api', 'auth', 'boot', 'healthz', 'readyz', 'assets'];

/** The name of a file below /assets contains a digest of its content. */
const CACHING = {
  asset: 'public, max-age=31536000, immutable',
  page: 'no-cache',
} as const;

type Caching = keyof typeof CACHING;

interface ByPath {
  readonly Params: { readonly '*': string };
}

export async function consoleFiles(app: FastifyInstance, { root }: ConsoleFilesOptions): Promise<void> {
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers(SECURITY_HEADERS);
  });

  app.get('/', (request, reply) => sendIndex(request, reply, root));

  app.get<ByPath>('/assets/*', async (request, reply) => {
    const path = `assets/${request.params['*']}`;
    return (await sendFile(request, reply, { root, path, caching: 'asset' })) ?? reply.callNotFound();
  });

  app.get<ByPath>('/*', async (request, reply) => {
    const path = request.params['*'];
    const [first = '', ...others] = path.split('/');
    // A first segment with a dot is a service of the API or a file beside index.html, never a page.
    if (first.includes('.')) {
      const sent = others.length === 0 && (await sendFile(request, reply, { root, path, caching: 'page' }));
      return sent || reply.callNotFound();
    }
    const isPage = !NOT_PAGES.includes(first) && (request.headers.accept ?? '').includes('text/html');
    return isPage ? sendIndex(request, reply, root) : reply.callNotFound();
  });
}

async function sendIndex(request: FastifyRequest, reply: FastifyReply, root: string) {
  return (await sendFile(request, reply, { root, path: INDEX, caching: 'page' })) ?? notBuilt(reply);
}

function notBuilt(reply: FastifyReply) {
  return reply
    .code(503)
    .header('cache-control', 'no-store')
    .type('text/plain; charset=utf-8')
    .send(
      'The console is not built. Run `npm run build` (`npm start` does it by itself), then start the server again.\n',
    );
}

interface FileRequest {
  readonly root: string;
  readonly path: string;
  readonly caching: Caching;
}

const SENT: ReadonlySet<number> = new Set([200, 304, 412]);

/** Null: there is no such file. */
async function sendFile(request: FastifyRequest, reply: FastifyReply, { root, path, caching }: FileRequest) {
  if (path.length > MAX_PATH || !FILE.test(path)) return null;
  const type = TYPES[extname(path)];
  if (type === undefined) return null;
  const encoding = await encodingFor(request, join(root, path));
  const suffix = encoding === null ? '' : ENCODINGS[encoding];
  const { statusCode, headers, stream } = await send(request.raw, `/${path}${suffix}`, {
    root,
    dotfiles: 'deny',
    index: false,
    acceptRanges: false,
    cacheControl: false,
    contentType: false,
  });
  if (!SENT.has(statusCode)) return null;
  if (path === INDEX) reply.header('content-security-policy', policy(await styleDigests(join(root, INDEX))));
  return reply
    .code(statusCode)
    .headers(headers)
    .header('content-type', type)
    .header('cache-control', CACHING[caching])
    .header('vary', 'accept-encoding')
    .headers(encoding === null ? {} : { 'content-encoding': encoding })
    .send(stream);
}

async function encodingFor(request: FastifyRequest, file: string): Promise<keyof typeof ENCODINGS | null> {
  const accepted = acceptedEncodings(request.headers['accept-encoding']);
  for (const encoding of Object.keys(ENCODINGS) as Array<keyof typeof ENCODINGS>) {
    if (accepted.has(encoding) && (await exists(file + ENCODINGS[encoding]))) return encoding;
  }
  return null;
}

function acceptedEncodings(header: string | string[] | undefined): ReadonlySet<string> {
  const given = String(header ?? '').split(',');
  const named = given.map((part) => /^\s*([a-z]+)\s*(?:;\s*q=([\d.]+)\s*)?$/i.exec(part));
  return new Set(
    named.flatMap((match) => (match?.[1] && Number(match[2] ?? 1) > 0 ? [match[1].toLowerCase()] : [])),
  );
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
