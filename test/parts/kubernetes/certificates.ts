/** A certificate authority of our own, and what it signs, made with the openssl program. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Authority {
  readonly caFile: string;
  /** A certificate and its key for a name. */
  issue(
    name: string,
    use: 'server' | 'client',
  ): { readonly certificateFile: string; readonly keyFile: string };
}

function openssl(...args: string[]): void {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

export function createAuthority(dir: string, name = 'stand-in'): Authority {
  const file = (suffix: string) => join(dir, `${name}-${suffix}`);
  const [caFile, caKeyFile] = [file('ca.crt'), file('ca.key')];
  openssl(
    'req',
    '-x509',
    ...NEW_KEY,
    '-keyout',
    caKeyFile,
    '-out',
    caFile,
    '-days',
    '2',
    '-subj',
    `/CN=${name}-ca`,
  );
  let serial = 0;
  return {
    caFile,
    issue(subject, use) {
      serial++;
      const [keyFile, request, certificateFile, extensions] = ['key', 'csr', 'crt', 'ext'].map((suffix) =>
        file(`${serial}.${suffix}`),
      ) as [string, string, string, string];
      const alternatives = use === 'server' ? 'subjectAltName=IP:127.0.0.1,DNS:localhost\n' : '';
      writeFileSync(extensions, `${alternatives}extendedKeyUsage=${use}Auth\nbasicConstraints=CA:FALSE\n`);
      openssl(
        'req',
        ...NEW_KEY,
        '-keyout',
        keyFile,
        '-out',
        request,
        '-subj',
        `/O=system:masters/CN=${subject}`,
      );
      const signed = ['-CA', caFile, '-CAkey', caKeyFile, '-set_serial', String(serial), '-days', '2'];
      openssl('x509', '-req', '-in', request, ...signed, '-extfile', extensions, '-out', certificateFile);
      return { certificateFile, keyFile };
    },
  };
}
