import { stringify } from 'yaml';
import type { BootstrapToken } from './bootstrap-token.ts';

export interface Joining {
  readonly endpoint: string;
  readonly caCertHashes: readonly string[];
  readonly node: string;
  readonly token: BootstrapToken;
  /** Of the host's kubeadm, such as v1.31.2. */
  readonly kubeadmVersion: string;
}

/** v1beta4 came with 1.31; v1beta3, which it replaces, goes back to 1.22. */
const FIRST_MINOR_WITH_V1BETA4 = 31;

/** What kubeadm reads in place of flags, so that the token is in no process list. */
export function joinConfiguration(joining: Joining): string {
  const token = `${joining.token.id}.${joining.token.secret}`;
  return stringify({
    apiVersion: `kubeadm.k8s.io/${isAtLeast(joining.kubeadmVersion) ? 'v1beta4' : 'v1beta3'}`,
    kind: 'JoinConfiguration',
    discovery: {
      bootstrapToken: {
        apiServerEndpoint: joining.endpoint,
        token,
        caCertHashes: [...joining.caCertHashes],
      },
      tlsBootstrapToken: token,
    },
    nodeRegistration: { name: joining.node },
  });
}

function isAtLeast(version: string): boolean {
  const match = /^v?(\d+)\.(\d+)/.exec(version);
  if (!match) return true;
  return Number(match[1]) > 1 || Number(match[2]) >= FIRST_MINOR_WITH_V1BETA4;
}
