/** Texts for what the HTTP server refuses before a route sees it; its own texts may quote the body. */

export const UNREADABLE_REQUESTS: Readonly<Record<string, string>> = {
  FST_ERR_CTP_INVALID_JSON_BODY: 'the body is not JSON',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'the body is empty; it must be JSON, as content-type says',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'the content-type is not one that is taken here; send application/json',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'the body is not as long as content-length says',
  FST_ERR_CTP_BODY_TOO_LARGE: 'the body is too large',
  FST_ERR_BAD_URL: 'the path is not a valid URL',
  FST_ERR_MAX_PARAM_LENGTH: 'a part of the path is too long',
  NUL_IN_URL: 'the path or the query has a NUL character (%00)',
  URL_NOT_UTF8: 'the path or the query has bytes that are not UTF-8',
  BODY_NOT_UTF8: 'the body is not UTF-8',
  BODY_TOO_COMPLEX: 'the body has too many values or levels',
  BAD_HOST: 'the Host header is not a host',
  UNSTORABLE_TEXT: 'the body has a NUL character or a lone surrogate, which no text may have',
};

function refusal(code: string) {
  return Object.assign(new Error(code), { code, statusCode: 400 });
}

const ESCAPED = /(?:%[0-9a-f]{2})+/gi;
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Why a URL cannot be read: a NUL or bytes that are not UTF-8, which no stored text has. Null: it can be read. */
export function unreadableUrl(url: string): Error | null {
  for (const [run] of url.matchAll(ESCAPED)) {
    try {
      const text = UTF8.decode(Buffer.from(run.replaceAll('%', ''), 'hex'));
      if (text.includes('\0')) return refusal('NUL_IN_URL');
    } catch {
      return refusal('URL_NOT_UTF8');
    }
  }
  return null;
}

export function notUtf8(): Error {
  return refusal('BODY_NOT_UTF8');
}

/** `problem` says which limit the body exceeds. */
export function tooComplex(problem: string): Error {
  return Object.assign(refusal('BODY_TOO_COMPLEX'), { problem });
}

/** Why the host of a request is refused: a URL is made of it. Clients of HTTP/1.0, such as health checks, send none. */
export function unreadableHost({ host }: { readonly host?: string | undefined }): Error | null {
  return host === undefined || URL.canParse(`http://${host}`) ? null : refusal('BAD_HOST');
}

/** The text cannot be stored; `path` leads to its field. */
export function unstorableText(path: readonly string[]): Error {
  return Object.assign(refusal('UNSTORABLE_TEXT'), {
    field: path.map((part) => part.slice(0, 80)).join('.'),
  });
}

/** For a route that parses its body itself. */
export const NOT_JSON = Object.assign(new Error('not JSON'), {
  code: 'FST_ERR_CTP_INVALID_JSON_BODY',
  statusCode: 400,
});

const BY_STATUS: Readonly<Record<number, string>> = {
  413: 'the body is too large',
  415: 'the content-type is not one that is taken here; send application/json',
  431: 'the headers are too large',
};

export function badBodyText(error: {
  readonly code?: string;
  readonly statusCode?: number;
  readonly field?: string;
  readonly problem?: string;
}): string {
  const known = UNREADABLE_REQUESTS[error.code ?? ''] ?? BY_STATUS[error.statusCode ?? 0];
  if (known && error.problem) return `${known}: ${error.problem}`;
  // Escaped as in JSON, so that the refused character is not sent back.
  if (known && error.field) return `${JSON.stringify(error.field).slice(1, -1)}: ${known}`;
  return known ?? "the request can't be read; send a JSON body with content-type application/json";
}
