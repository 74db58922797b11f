/** How the channel of the gRPC client verifies its server. */
import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import { type ChannelCredentials, type ChannelOptions, credentials } from '@grpc/grpc-js';
import type { ClientTls } from './client-tls.ts';
import type { ServerAddress } from './server-address.ts';

/** A name for servers that are known by their address: the handshake can't carry an address as a name. */
const NAME_OF_ADDRESS = 'ingot.invalid';

export function channelSecurity(
  { host, tls }: ServerAddress,
  { ca, pair }: ClientTls,
): { readonly security: ChannelCredentials; readonly options: ChannelOptions } {
  if (!tls) return { security: credentials.createInsecure(), options: {} };
  const isAddress = isIP(host) !== 0;
  const security = credentials.createSsl(
    ca,
    pair?.key ?? null,
    pair?.cert ?? null,
    isAddress ? { checkServerIdentity: (_name, certificate) => checkServerIdentity(host, certificate) } : {},
  );
  return { security, options: isAddress ? { 'grpc.ssl_target_name_override': NAME_OF_ADDRESS } : {} };
}
