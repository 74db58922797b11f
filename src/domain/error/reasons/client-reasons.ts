/** What the command line itself reports when no server answers. */
import type { ReasonRow } from './reason-row.ts';

export const CLIENT_REASONS = {
  UNAVAILABLE: {
    kind: 'unavailable',
    message: 'no server answers at <address>',
    cause: 'no server listens at the gRPC address, or the network does not reach it',
    fix: 'start the server, or name its address',
    commands: ['npm start', 'or set INGOT_SERVER=host:port (tried {server_address})'],
  },
  HTTP_UNAVAILABLE: {
    kind: 'unavailable',
    message: 'no server answers at <url>',
    cause: 'no server listens at the HTTP address, or the network does not reach it',
    fix: 'start the server, or name its URL',
    commands: ['npm start', 'or set INGOT_HTTP_URL=http://host:port'],
  },
} as const satisfies Record<string, ReasonRow>;
