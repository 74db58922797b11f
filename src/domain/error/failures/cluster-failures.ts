/** Failures between the server, a host and the Kubernetes cluster that it joins. */
import type { FailureRow } from './advice.ts';

export const CLUSTER_FAILURES = {
  UNKNOWN_CLUSTER: {
    classes: ['permanent'],
    whatHappened: 'the cluster is not in the configuration',
    check: 'put it under clusters in the configuration of every replica, and restart them',
    action: 'retry_stage',
    who: 'admin',
  },
  CLUSTER_UNAUTHORIZED: {
    classes: ['needs_human'],
    whatHappened: 'the API server of the cluster does not accept our credentials',
    check: 'put a valid token or certificate where the configuration of the cluster points',
    action: 'retry_stage',
    who: 'admin',
  },
  CLUSTER_FORBIDDEN: {
    classes: ['needs_human'],
    whatHappened: 'the cluster does not allow us what the step needs',
    check: 'grant it to the account of Ingot: nodes, pods and their eviction, and secrets in kube-system',
    action: 'retry_stage',
    who: 'upstream',
  },
  CLUSTER_UNAVAILABLE: {
    classes: ['retryable'],
    whatHappened: 'the API server of the cluster does not answer',
    check: 'bring it back, and the network to it',
    action: 'retry_stage',
    who: 'upstream',
    waitedOut: true,
  },
  CLUSTER_REFUSED: {
    classes: ['permanent'],
    whatHappened: 'the API server of the cluster calls the request wrong',
    check: 'see what the error names: an admission rule or the version of the cluster may forbid it',
    action: 'retry_stage',
    who: 'upstream',
  },
  CLUSTER_CERTIFICATE_INVALID: {
    classes: ['needs_human'],
    whatHappened: 'the certificate of the API server is not one that ca_file vouches for',
    check: 'make sure that it is the right server, then correct its certificate or ca_file',
    action: 'retry_stage',
    who: 'admin',
  },
  NODE_NOT_FOUND: {
    classes: ['permanent'],
    whatHappened: 'the cluster has no node of that name',
    check:
      'join the host to the cluster, or give the machine a label ingot/node-name with the name of its node',
    action: 'retry_stage',
    who: 'operator',
  },
  NODE_NAME_INVALID: {
    classes: ['permanent'],
    whatHappened: 'the name of the machine cannot be the name of a node',
    check: 'give the machine a label ingot/node-name with a valid one',
    action: 'retry_stage',
    who: 'operator',
  },
  NODE_NAME_TAKEN: {
    classes: ['retryable'],
    whatHappened: 'the cluster has a Ready node of that name, and this host is not it',
    check: 'remove that node, or give this machine another label ingot/node-name',
    action: 'retry_stage',
    who: 'operator',
  },
  HOST_IN_ANOTHER_CLUSTER: {
    classes: ['needs_human'],
    whatHappened: 'the host has the credentials of a kubelet, and the cluster does not know its node',
    check: 'make sure that the host is not in use elsewhere, then run "kubeadm reset" on it',
    action: 'retry_stage',
    who: 'operator',
  },
  KUBEADM_MISSING: {
    classes: ['permanent'],
    whatHappened: 'there is no kubeadm on the host, or sudo does not let us run it',
    check: 'install kubeadm on the host, or use an image that has it',
    action: 'retry_stage',
    who: 'operator',
  },
  JOIN_FAILED: {
    classes: ['retryable'],
    whatHappened: 'kubeadm join ended with an error',
    check: 'read its output in the log of the step, and fix on the host what it names',
    action: 'retry_stage',
    who: 'operator',
  },
  JOIN_INTERRUPTED: {
    classes: ['retryable'],
    whatHappened: 'the connection broke while kubeadm ran on the host',
    check: 'inspect the network to the host; the next attempt sees what became of the join',
    action: 'retry_stage',
    who: 'site',
    waitedOut: true,
  },
} as const satisfies Record<string, FailureRow>;
