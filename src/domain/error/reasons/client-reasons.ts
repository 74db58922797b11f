/** What the command line itself reports when no server answers. */
import type { ReasonRow } from './reason-row.ts';

export const CLIENT_REASONS = {
  UNAVAILABLE: {
    kind: 'unavailable',
    message: 'no server answers at <address>',
    cause: 'no server listens at the gRPC address, or the network does not reach it',
    fix: 'start the server, or name its address',
    commands: [
      '{start_server}',
      'set INGOT_SERVER=host:port, or {ingot} login --server host:port (tried {server_address})',
    ],
  },
  HTTP_UNAVAILABLE: {
    kind: 'unavailable',
    message: 'no server answers at <url>',
    cause: 'no server listens at the HTTP address, or the network does not reach it',
    fix: 'start the server, or name its URL',
    commands: [
      '{start_server}',
      'set INGOT_HTTP_URL=http://host:port, where its HTTP port is behind another address',
    ],
  },
  TLS_FAILED: {
    kind: 'unavailable',
    message: "the server at <address> can't be used: <what is wrong with the connection>",
    cause:
      'the certificate of the server is not trusted, has expired or is for other names, or the server has no TLS',
    fix: 'name the CA of the server; use the name that its certificate has; for a server without TLS, use grpc:// and http://',
    commands: [
      'set INGOT_CA_FILE=<the CA of the server> (or --ca-file)',
      'for a server without TLS: INGOT_SERVER=grpc://host:port, and no INGOT_CA_FILE',
    ],
  },
} as const satisfies Record<string, ReasonRow>;
