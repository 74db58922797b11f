/** What a call brings along to prove who is calling, the same on every surface. */
import type { IncomingMessage } from 'node:http';
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { DetailedPeerCertificate, PeerCertificate, TLSSocket } from 'node:tls';
import type * as grpc from '@grpc/grpc-js';
import type { FastifyRequest } from 'fastify';
import type { RequestSource } from './same-origin.ts';
import type { TrustedProxies } from './trusted-proxies.ts';

export interface Credentials {
  readonly authorization: string | undefined;
  readonly cookie: string | undefined;
  /** Of a client whose certificate the TLS handshake verified. */
  readonly certificate: PeerCertificate | DetailedPeerCertificate | null;
  /** The address that the connection comes from, or the one that a trusted proxy names. */
  readonly address: string;
  /** What a browser says about the page that sends the request; null on gRPC, which browsers do not use. */
  readonly source: RequestSource | null;
  /** Why the caller makes the call, as it was sent (REASON_HEADER). */
  readonly reason?: string | undefined;
}

/** On every call of every API: why it is made. */
export const REASON_HEADER = 'ingot-reason';

export function credentialsOfRequest({ raw, ip }: FastifyRequest): Credentials {
  return credentialsOfMessage(raw, ip);
}

/** The same of a request that is read without fastify; `address` is that of its caller. */
export function credentialsOfMessage(message: IncomingMessage, address: string): Credentials {
  const { headers } = message;
  const socket = message.socket as TLSSocket;
  return {
    authorization: headers.authorization,
    cookie: headers.cookie,
    certificate: verifiedCertificate(socket),
    address,
    source: {
      method: message.method ?? '',
      host: headers.host ?? headerText(headers[':authority']) ?? '',
      protocol: socket.encrypted ? 'https' : 'http',
      origin: headers.origin,
      fetchSite: headerText(headers['sec-fetch-site']),
      isUnattended: headers['x-ingot-unattended'] !== undefined,
    },
    reason: headerText(headers[REASON_HEADER]),
  };
}

type GrpcCall = Pick<grpc.ServerUnaryCall<unknown, unknown>, 'metadata' | 'getPeer' | 'getAuthContext'>;

export function credentialsOfCall(call: GrpcCall, proxies: TrustedProxies): Credentials {
  const forwardedFor = call.metadata.get('x-forwarded-for');
  return {
    authorization: call.metadata.get('authorization')[0]?.toString(),
    cookie: undefined,
    certificate: call.getAuthContext().sslPeerCertificate ?? null,
    address: proxies.callerOf(
      hostOf(call.getPeer()),
      forwardedFor.length === 0 ? undefined : forwardedFor.map(String).join(','),
    ),
    source: null,
    reason: call.metadata.get(REASON_HEADER)[0]?.toString(),
  };
}

/** The same of a call that is read straight from its stream. */
export function credentialsOfStream(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  proxies: TrustedProxies,
): Credentials {
  const { address, certificate } = peerOf(stream);
  return {
    authorization: headers.authorization,
    cookie: undefined,
    certificate,
    address: proxies.callerOf(address, headerText(headers['x-forwarded-for'])),
    source: null,
    reason: headerText(headers[REASON_HEADER]),
  };
}

interface Peer {
  readonly address: string;
  readonly certificate: PeerCertificate | null;
}

const NO_PEER: Peer = { address: 'unknown', certificate: null };

/** A connection stays the same for all of its calls. */
const peers = new WeakMap<object, Peer>();

function peerOf({ session }: ServerHttp2Stream): Peer {
  if (session === undefined) return NO_PEER;
  let peer = peers.get(session);
  if (peer === undefined) {
    const socket = session.socket as TLSSocket;
    peer = { address: socket.remoteAddress ?? NO_PEER.address, certificate: verifiedCertificate(socket) };
    peers.set(session, peer);
  }
  return peer;
}

function headerText(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(',') : value;
}

/** A resumed session without a certificate counts as authorized too, and then the certificate is empty. */
function verifiedCertificate(socket: TLSSocket): PeerCertificate | null {
  const certificate = socket.authorized ? socket.getPeerCertificate() : null;
  return certificate?.raw ? certificate : null;
}

/** `127.0.0.1:4711` and `[::1]:4711` without their ports. */
function hostOf(peer: string): string {
  return peer.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
}
