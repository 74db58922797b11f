/** What a Vault, or what is in front of it, does instead of answering. */
import type { ServerResponse } from 'node:http';

type Answer = (response: ServerResponse) => void;

const refused =
  (status: number, ...errors: string[]): Answer =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ errors }));

export const VAULT_FAULTS = {
  sealed: refused(503, 'Vault is sealed'),
  /** It redirects to the leader by its own word: here to an address that no one must connect to. */
  standby: (response) =>
    void response.writeHead(307, { location: 'http://169.254.169.254/v1/', 'content-length': 0 }).end(),
  no_leader: refused(500, 'local node not active but active cluster node not found'),
  performance_standby: refused(473, 'performance standby'),
  disaster_recovery: refused(472, 'disaster recovery secondary'),
  /** An eventually consistent node that has not got the write yet. */
  not_consistent: refused(412, 'required index state not present'),
  overloaded: refused(429, 'request path "secret/data/bmc": rate limit quota exceeded'),
  upstream: refused(502, 'the upstream server did not respond'),
  broken: (response) => void response.destroy(),
  slow: () => {},
  not_json: (response) => void response.writeHead(200).end('<html>a proxy</html>'),
  too_large: (response) => void response.writeHead(200).end('x'.repeat(2 * 1024 * 1024)),
  denied: refused(403, '1 error occurred:\n\t* permission denied\n\n'),
} as const satisfies Record<string, Answer>;

export type VaultFault = keyof typeof VAULT_FAULTS;

export const isVaultFault = (name: unknown): name is VaultFault =>
  typeof name === 'string' && Object.hasOwn(VAULT_FAULTS, name);
