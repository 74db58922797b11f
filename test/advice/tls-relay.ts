/** TLS in front of an HTTP server, with a certificate that can be exchanged while it runs. */
import { mkdirSync, readFileSync } from 'node:fs';
import { request as forward } from 'node:http';
import { createServer, request as forwardSecurely } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createAuthority } from '../parts/kubernetes/certificates.ts';

export interface TlsRelay {
  readonly url: string;
  /** Signed the certificate of `itself`, and not that of the `stranger`. */
  readonly caFile: string;
  show(who: 'itself' | 'stranger'): void;
  stop(): Promise<void>;
}

export async function startTlsRelay(target: URL, folder: string): Promise<TlsRelay> {
  const issued = { itself: issueIn(join(folder, 'itself')), stranger: issueIn(join(folder, 'stranger')) };
  const server = createServer(issued.itself.context, (request, response) => {
    const { method, headers, url: path } = request;
    const send = target.protocol === 'https:' ? forwardSecurely : forward;
    const trust = { rejectUnauthorized: false };
    const onward = send(
      { ...trust, host: target.hostname, port: target.port, method, headers, path },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}${target.pathname.replace(/\/$/, '')}`,
    caFile: issued.itself.caFile,
    show: (who) => {
      server.setSecureContext(issued[who].context);
      server.closeAllConnections();
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function issueIn(folder: string) {
  mkdirSync(folder);
  const authority = createAuthority(folder);
  const { certificateFile, keyFile } = authority.issue('maas', 'server');
  const context = { cert: readFileSync(certificateFile), key: readFileSync(keyFile) };
  return { caFile: authority.caFile, context };
}
