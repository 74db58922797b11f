/**
 * Bootstrap tokens: what a host shows the API server to become a node. One is minted for one attempt, removed when
 * the attempt is over, and expires soon in case that no replica removes it. Each carries the operation that it
 * is for, so that what a crashed attempt left is found by the next one.
 */

import type { V1Secret } from '@kubernetes/client-node';
import { operationOf, type ProviderCall } from '../providers/provider.ts';
import { sleep } from '../time/sleep.ts';
import type { ClusterApi } from './cluster-api.ts';
import { ClusterFailure } from './cluster-failure.ts';

export interface BootstrapToken {
  readonly id: string;
  readonly secret: string;
}

export interface TokenMint {
  /** A whole number from 0 to below max, that can't be predicted. */
  readonly randomInt: (max: number) => number;
  readonly now: () => Date;
}

const OPERATION_LABEL = 'ingot.dev/operation';
const FENCE_ANNOTATION = 'ingot.dev/fence';
const NODE_ANNOTATION = 'ingot.dev/node';
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';
/** Longer than a host needs from the command to its credentials, which is all that the token is for. */
const LIFETIME_MS = 15 * 60 * 1000;
const MINT_ATTEMPTS = 3;
const REMOVE_ATTEMPTS = 3;
const REMOVE_MS = 4_000;
/** A step that is aborted has to return at once; the removal goes on, and what it leaves the next attempt removes. */
const STOPPED_WAIT_MS = 150;

function secretName(token: Pick<BootstrapToken, 'id'>): string {
  return `bootstrap-token-${token.id}`;
}

/**
 * Creates a token, lets the work use it, and takes it away however the work ends; also when the request that was to
 * create it got no answer, since it may have been carried out.
 */
export async function withBootstrapToken<T>(
  api: ClusterApi,
  call: ProviderCall,
  { node, mint }: { readonly node: string; readonly mint: TokenMint },
  work: (token: BootstrapToken) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const token = { id: draw(mint, 6), secret: draw(mint, 16) };
    let ours = true;
    call.checkHeld();
    try {
      await api.createTokenSecret(secretOf(token, call, node, mint.now()), call.signal);
      return await work(token);
    } catch (error) {
      const taken = error instanceof ClusterFailure && error.status === 409;
      if (!taken) throw error;
      // A token that is not ours has this id: it is not removed.
      ours = false;
      if (attempt >= MINT_ATTEMPTS) throw error;
    } finally {
      if (ours) await briefly(call.signal, remove(api, call, secretName(token)));
    }
  }
}

async function briefly(signal: AbortSignal, removal: Promise<void>): Promise<void> {
  await (signal.aborted ? Promise.race([removal, sleep(STOPPED_WAIT_MS)]) : removal);
}

/** What attempts of this operation that died have left; a later holder's are not touched. */
export async function removeLeftTokens(api: ClusterApi, call: ProviderCall): Promise<void> {
  const left = await api.tokenSecrets(`${OPERATION_LABEL}=${operationOf(call)}`, call.signal);
  for (const { name, annotations } of left) {
    if (Number(annotations[FENCE_ANNOTATION] ?? 0) > call.fence) continue;
    call.checkHeld();
    await api.deleteTokenSecret(name, call.signal);
  }
}

/** Also after a cancel, so it has a signal of its own. A token that can't be removed still expires. */
async function remove(api: ClusterApi, call: ProviderCall, name: string): Promise<void> {
  const signal = AbortSignal.timeout(REMOVE_MS);
  for (let attempt = 1; attempt <= REMOVE_ATTEMPTS; attempt++) {
    try {
      await api.deleteTokenSecret(name, signal);
      return;
    } catch {
      if (signal.aborted) break;
      await sleep(200 * attempt);
    }
  }
  const minutes = LIFETIME_MS / 60_000;
  call.log(`${name} could not be removed from the cluster; it expires within ${minutes} minutes`, 'stderr');
}

function secretOf(token: BootstrapToken, call: ProviderCall, node: string, now: Date): V1Secret {
  const expiration = new Date(now.getTime() + LIFETIME_MS).toISOString().replace(/\.\d+Z$/, 'Z');
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'bootstrap.kubernetes.io/token',
    metadata: {
      name: secretName(token),
      namespace: 'kube-system',
      labels: { 'app.kubernetes.io/managed-by': 'ingot', [OPERATION_LABEL]: operationOf(call) },
      annotations: { [FENCE_ANNOTATION]: String(call.fence), [NODE_ANNOTATION]: node },
    },
    stringData: {
      description: `Ingot operation ${operationOf(call)}: node ${node} joins`,
      'token-id': token.id,
      'token-secret': token.secret,
      expiration,
      'usage-bootstrap-authentication': 'true',
      'usage-bootstrap-signing': 'true',
      'auth-extra-groups': 'system:bootstrappers:kubeadm:default-node-token',
    },
  };
}

function draw({ randomInt }: TokenMint, length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}
