/**
 * Serves the keepalives of agents in front of the parser of HTTP (docs/decisions/0087-keepalives-before-the-parser.md).
 *
 * A connection comes here first. While what it sends is, request by request, exactly the usual keepalive of a machine whose token is
 * valid (usual-request.ts), it is answered here. At the first byte of anything else the connection is handed over with all that was
 * received and not answered, and from then on it is an ordinary connection of the HTTP server, with its parser, routes, limits and
 * errors. It never comes back.
 *
 * A connection that sends nothing, or half a request, is handed over after a moment, so the time limits for slow clients are those
 * of the server. One that is idle after an answer ends as all idle ones do.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { AgentBearer } from '../../../store/agents/agents.ts';
import type { RequestLimits } from '../../limits/request-limits.ts';
import type { MachineTokens } from '../../machine-tokens.ts';
import { FrontConnection } from './front-connection.ts';

export interface FrontDependencies {
  readonly tokens: Pick<MachineTokens, 'known' | 'owner'>;
  readonly limits: Pick<RequestLimits, 'countCallOf'>;
  readonly answer: (call: FrontCall, answered: (answer: FrontAnswer) => void) => void;
}

export interface FrontCall {
  readonly owner: AgentBearer;
  readonly body: unknown;
  readonly address: string;
}

export interface FrontAnswer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: string;
}

export interface FrontOptions {
  readonly server: Server;
  readonly keepAliveMs: number;
  /** How long a connection may take for a request before it is handed over. */
  readonly patienceMs: number;
  /** There are so many connections that each ends with its answer. */
  readonly isCrowded: () => boolean;
}

export interface Front {
  /** No new requests are taken; what is under way is answered, with the end of its connection. */
  close(): void;
  closeAll(): void;
}

const CHECKS = 4;

export function standInFront(dependencies: FrontDependencies, options: FrontOptions): Front {
  const { server, keepAliveMs, patienceMs } = options;
  const listeners = server.listeners('connection');
  const [parse] = listeners as Array<(this: Server, socket: Socket) => void>;
  if (parse === undefined) throw new Error('the server does not take connections');
  const connections = new Set<FrontConnection>();
  const context = {
    ...dependencies,
    isCrowded: options.isCrowded,
    keepAliveMs,
    isClosing: false,
    left: (connection: FrontConnection) => connections.delete(connection),
    handOver: (socket: Socket) => parse.call(server, socket),
    refuseHalf: (socket: Socket) => server.emit('clientError', halfARequest(), socket),
  };
  server.off('connection', parse);
  server.prependListener('connection', (socket: Socket) => {
    if (context.isClosing) parse.call(server, socket);
    else connections.add(new FrontConnection(socket, context));
  });
  const timer = setInterval(() => {
    const now = performance.now();
    for (const connection of connections) connection.check(now, patienceMs);
  }, Math.min(patienceMs, keepAliveMs) / CHECKS).unref();
  return {
    close() {
      context.isClosing = true;
      clearInterval(timer);
      for (const connection of connections) connection.close();
    },
    closeAll() {
      for (const connection of connections) connection.destroy();
    },
  };
}

/** As the parser reports a request whose end never came. */
function halfARequest(): NodeJS.ErrnoException {
  return Object.assign(new Error('the connection ended within a request'), {
    code: 'HPE_INVALID_EOF_STATE',
  });
}
