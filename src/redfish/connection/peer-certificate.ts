/** The certificate that a service shows. The connection is closed before anything is sent over it. */
import type { X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';
import type { AddressRule } from '../../connections/address-rules.ts';
import { endpointText } from '../../connections/endpoint.ts';
import { NotConnected, openTcp } from '../../connections/tcp.ts';
import type { BmcCertificate } from '../../domain/hardware/bmc-certificate.ts';
import { printable } from './answer-fields.ts';
import type { RedfishEndpoint } from './redfish-endpoint.ts';
import { RedfishFailure } from './redfish-failure.ts';

export interface PeerOptions {
  readonly endpoint: RedfishEndpoint;
  /** The address that was checked; the name is for the certificate. */
  readonly address: string;
  readonly rule: AddressRule;
  /** PEM of the authorities that are trusted; null: those of the system. */
  readonly authorities: string | null;
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

export async function readPeerCertificate(options: PeerOptions): Promise<BmcCertificate> {
  const { endpoint, address, rule, authorities, limitMs, signal } = options;
  const { host, port } = endpoint;
  const where = endpointText({ host, port });
  if (endpoint.protocol !== 'https:')
    throw new RedfishFailure('NotOffered', where, 'a certificate: spec.bmc_endpoint is http');
  const socket = await openTcp({ host: address, port }, { timeoutMs: limitMs, signal }, rule).catch(
    (error: unknown) => {
      if (error instanceof NotConnected) throw new RedfishFailure('NotReachable', where, error.message);
      throw error;
    },
  );
  const secure = connect({
    socket,
    servername: host === address ? '' : host,
    minVersion: 'TLSv1.2',
    rejectUnauthorized: false,
    ...(authorities === null ? {} : { ca: authorities }),
  });
  try {
    const shown = await new Promise<X509Certificate | undefined>((resolve, reject) => {
      const stop = () => reject(signal.reason);
      signal.addEventListener('abort', stop, { once: true });
      secure.setTimeout(limitMs, () => reject(new RedfishFailure('NoAnswer', where, 'no answer in time')));
      secure.once('secureConnect', () => resolve(secure.getPeerX509Certificate()));
      secure.once('close', () =>
        reject(new RedfishFailure('NotRedfish', where, 'it closed the TLS handshake')),
      );
      secure.on('error', () => reject(new RedfishFailure('NotRedfish', where, 'it has no TLS')));
    });
    if (!shown) throw new RedfishFailure('NotRedfish', where, 'it shows no certificate');
    return described(shown, secure.authorized);
  } finally {
    secure.destroy();
  }
}

const MAX_NAME = 300;

function described(shown: X509Certificate, isVerified: boolean): BmcCertificate {
  return {
    sha256: shown.fingerprint256.replaceAll(':', '').toLowerCase(),
    subject: printable(shown.subject, MAX_NAME),
    issuer: printable(shown.issuer, MAX_NAME),
    validFrom: new Date(shown.validFrom),
    validTo: new Date(shown.validTo),
    isVerified,
  };
}
