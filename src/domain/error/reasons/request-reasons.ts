/** Why a request is refused before anything is looked up: its form, its token, its role. */
import type { ReasonRow } from './reason-row.ts';

export const REQUEST_REASONS = {
  OUT_OF_SCOPE: {
    kind: 'permission_denied',
    message: '<what> is not available in the scope <scope>',
    cause:
      'the caller has a scope, and the change would make, move or claim something outside of it, or is for callers without a scope',
    fix: 'stay inside the scope that `ingot whoami` shows, choose another name or address, or ask an admin of the whole fleet',
  },
  MISSING_FIELD: {
    kind: 'invalid_argument',
    message: '<field> is required',
    cause: 'a field that the call needs is absent or empty',
    fix: 'set the field that the message names',
  },
  INVALID_FIELD: {
    kind: 'invalid_argument',
    message: '<field>: <what is wrong with it>',
    cause: 'a value is of the wrong type, out of range, or not one of those that the field takes',
    fix: 'correct the field that the message names; `errors` on REST and BadRequest on gRPC list all of them',
  },
  INVALID_FILTER: {
    kind: 'invalid_argument',
    message: 'filter: <what is wrong, and where>',
    cause: 'the filter does not parse, or names a field or value that the list does not have',
    fix: 'correct the filter at the position that the message names; the syntax is in docs/operations-api.md',
  },
  INVALID_PAGE_TOKEN: {
    kind: 'invalid_argument',
    message: 'page_token: <what is wrong with it>',
    cause: 'the token was changed, or belongs to another list, filter or scope',
    fix: 'send the next_page_token of the previous page with the same filter, or start without a token',
  },
  INVALID_CURSOR: {
    kind: 'invalid_argument',
    message: 'cursor: is not a cursor that this call gave out',
    cause: 'the cursor was changed, or belongs to another call',
    fix: 'resume with the last cursor of the same call, or start without one',
  },
  MALFORMED_MESSAGE: {
    kind: 'invalid_argument',
    message: 'the request is not a valid <message type>',
    cause: 'the bytes of the request cannot be decoded as the message of the call',
    fix: 'generate the client from the protos of this version',
  },
  REQUEST_TOO_LARGE: {
    kind: 'resource_exhausted',
    message: 'the request is too large: at most <limit> bytes are taken here',
    cause: 'the body, also after it was decompressed, is larger than the call takes',
    fix: 'send less in one request; docs/limits.md has the limit of each call',
  },
  REQUEST_TOO_COMPLEX: {
    kind: 'invalid_argument',
    message: 'the request is not a <message type> that is taken: <which limit>',
    cause:
      'the request has more fields, values or levels than any honest one, and would take too long to decode',
    fix: 'send fewer labels, ids or steps in one request; docs/limits.md has the limits',
  },
  RATE_LIMITED: {
    kind: 'resource_exhausted',
    message: 'too many calls of this identity; try again later',
    cause: 'more calls of one identity, or without a valid identity from one address, than limits allows',
    fix: 'wait for the time that retry-after or RetryInfo names; an admin changes limits in the configuration',
  },
  TOO_MANY_STREAMS: {
    kind: 'resource_exhausted',
    message: 'this identity has <count> streams open, and no more are allowed; close one, or try again later',
    cause: 'one identity has as many watches and logs open as limits.streams_per_identity allows',
    fix: 'close streams that are not read, or share one',
  },
  TOO_MANY_FAILED_LOGINS: {
    kind: 'resource_exhausted',
    message: 'too many wrong credentials; wait before the next attempt',
    cause: 'many different wrong tokens came from this address; each further one doubles the time to wait',
    fix: 'use a valid token: it is taken at once; otherwise wait as long as retry-after or RetryInfo says',
  },
  REQUEST_ID_REUSED: {
    kind: 'already_exists',
    message: 'request_id <id> already started <operation> with other content',
    cause: 'a request with the same request_id and another content came before',
    fix: 'use a new request_id for new work; repeat the old request unchanged to get its operation',
    commands: ['give another --request-id, or leave it out to have one made'],
  },
  UNAUTHENTICATED: {
    kind: 'unauthenticated',
    message: '<what is wrong with the token>',
    cause: 'the authorization header has no bearer token, or one that is unknown, revoked or expired',
    fix: 'send a valid token; an admin creates one with `ingot token create`',
    commands: [
      '{ingot} login',
      'set INGOT_TOKEN or --token-file, or run this where the server keeps its data (token from: {token_origin})',
    ],
  },
  NO_MAPPED_ROLE: {
    kind: 'permission_denied',
    message: '<issuer>:<name> has no role here: no mapping of <issuer> matches its claims',
    cause: 'the token of the issuer is valid, and none of its claims is mapped to a role',
    fix: 'ask for the group that has access, or have an admin add a mapping under `oidc` in the configuration',
  },
  ISSUER_UNAVAILABLE: {
    kind: 'unavailable',
    message: 'the issuer <name> does not answer; try again',
    cause:
      'the token is signed with a key that is not known yet, and the issuer that publishes its keys cannot be reached',
    fix: 'try again; the log of the server says why the issuer cannot be read; tokens of Ingot work meanwhile',
  },
  CROSS_SITE_REQUEST: {
    kind: 'permission_denied',
    message: 'a request with a session or certificate of the browser must come from the console itself',
    cause:
      'another site made the browser send the request, or a program sends the cookie without Origin or Sec-Fetch-Site',
    fix: 'use the console; programs send a token in the authorization header instead of a cookie',
  },
  PERMISSION_DENIED: {
    kind: 'permission_denied',
    message: '<call> needs the role <needed>; <name> has <role>',
    cause: 'the role of the token is too low for the call',
    fix: 'use a token with the role that the message names',
    commands: [
      'use a token with a higher role; an admin makes one: {ingot} token create <name> --role operator|admin',
    ],
  },
  TOKEN_NAME_TAKEN: {
    kind: 'already_exists',
    message: 'there is a token named <name> already',
    cause: 'a token that is not revoked has the name',
    fix: 'revoke that token first, or choose another name',
    commands: ['{ingot} token list'],
  },
  TOKEN_NOT_FOUND: {
    kind: 'not_found',
    message: 'there is no live token named <name>',
    cause: 'no token has the name, or it is revoked already',
    fix: 'list the tokens',
    commands: ['{ingot} token list'],
  },
  SESSION_NOT_FOUND: {
    kind: 'not_found',
    message: 'there is no session <session_id> that has not ended',
    cause: 'no session of the console has the id, or it has ended already',
    fix: 'list the sessions on the page Access of the console',
    commands: [],
  },
  IDENTITY_NOT_REVOKED: {
    kind: 'not_found',
    message: 'the access of <identity> was not revoked',
    cause: 'the identity is let in, or no one of that name was ever revoked',
    fix: 'list the identities, and restore one that is revoked',
    commands: ['{ingot} identity list'],
  },
} as const satisfies Record<string, ReasonRow>;
