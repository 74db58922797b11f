/** What the HTTP server itself refuses before a route sees it, in our own words: its own may quote the body. */

const TEXTS: Readonly<Record<string, string>> = {
  FST_ERR_CTP_INVALID_JSON_BODY: 'the body is not JSON',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'the body is empty; it must be JSON, as content-type says',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'the content-type is not one that is taken here; send application/json',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'the body is not as long as content-length says',
  FST_ERR_CTP_BODY_TOO_LARGE: 'the body is too large',
  FST_ERR_BAD_URL: 'the path is not a valid URL',
  FST_ERR_MAX_PARAM_LENGTH: 'a part of the path is too long',
  NUL_IN_URL: 'the path or the query has a NUL character (%00)',
};

/** For a request whose address has %00 in it. */
export const NUL_IN_URL = Object.assign(new Error('NUL in the URL'), { code: 'NUL_IN_URL', statusCode: 400 });

/** For a body that a route reads itself, and that is no JSON. */
export const NOT_JSON = Object.assign(new Error('not JSON'), {
  code: 'FST_ERR_CTP_INVALID_JSON_BODY',
  statusCode: 400,
});

const BY_STATUS: Readonly<Record<number, string>> = {
  413: 'the body is too large',
  415: 'the content-type is not one that is taken here; send application/json',
  431: 'the headers are too large',
};

export function badBodyText(error: { readonly code?: string; readonly statusCode?: number }): string {
  const known = TEXTS[error.code ?? ''] ?? BY_STATUS[error.statusCode ?? 0];
  return known ?? "the request can't be read; send a JSON body with content-type application/json";
}
