/** The TLS of the gRPC port. A new certificate applies to new connections; grpc-js keeps the streams of the others. */
import { ServerCredentials } from '@grpc/grpc-js';
import { clientCertificateOptions, contextOptions, type TlsSource } from './tls-source.ts';

export interface GrpcCredentials {
  readonly credentials: ServerCredentials;
  /** Ends the reloading. */
  close(): void;
}

export function grpcCredentials(tls: TlsSource | null, handshakeMs: number): GrpcCredentials {
  if (tls === null) return { credentials: ServerCredentials.createInsecure(), close: () => {} };
  const credentials = new ReloadedCredentials(tls, handshakeMs);
  return { credentials, close: tls.onChange(() => credentials.reload(tls)) };
}

class ReloadedCredentials extends ServerCredentials {
  constructor({ current }: TlsSource, handshakeTimeout: number) {
    super({ ...clientCertificateOptions(current), handshakeTimeout }, contextOptions(current));
  }

  reload({ current }: TlsSource): void {
    this.updateSecureContextOptions(contextOptions(current));
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}
