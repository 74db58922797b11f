/**
 * The session of this browser. Its cookie is for the browser and the server only: no script can read it, and all tabs share
 * it. A tab that signs in or out notifies the others.
 */
import { useSyncExternalStore } from 'react';
import { restFailure } from './api/rest-failure.ts';

export type SessionState =
  | { readonly status: 'checking' }
  | { readonly status: 'unreachable'; readonly error: unknown }
  /** Each session has another number, also one of the same user. */
  | { readonly status: 'signed-in'; readonly number: number }
  /** Why the user has to sign in again; shown on the sign-in page. */
  | { readonly status: 'signed-out'; readonly reason: string };

type Notice = 'signed-in' | 'signed-out';

const listeners = new Set<() => void>();
const channel = new BroadcastChannel('ingot.session');
let state: SessionState = { status: 'checking' };
let number = 0;

channel.onmessage = ({ data }: MessageEvent<Notice>) => {
  if (data === 'signed-in') void checkSession();
  else setState({ status: 'signed-out', reason: 'You signed out in another tab.' });
};

/** Asks the server whose session this is. */
export async function checkSession(): Promise<void> {
  try {
    const { signed_in: isSignedIn } = await sessionCall<{ signed_in: boolean }>('GET');
    if (isSignedIn) startSession();
    else setState({ status: 'signed-out', reason: '' });
  } catch (error) {
    setState({ status: 'unreachable', error });
  }
}

/** The token is exchanged for a cookie and not kept. */
export async function signIn(token: string): Promise<void> {
  await sessionCall('POST', { authorization: `Bearer ${token}` });
  startSession();
  notifyTabs('signed-in');
}

export async function signOut(): Promise<void> {
  await sessionCall('DELETE');
  setState({ status: 'signed-out', reason: '' });
  notifyTabs('signed-out');
}

/** The server rejected a request of a session. If it is still the session of this tab, it is over. */
export function endSession(rejected: number): void {
  if (rejected !== number || state.status !== 'signed-in') return;
  setState({
    status: 'signed-out',
    reason:
      'Your session has ended: it was not used for too long, or its token was revoked or has expired. Sign in again.',
  });
}

export function sessionNumber(): number {
  return number;
}

export function useSession(): SessionState {
  return useSyncExternalStore(subscribe, () => state);
}

async function sessionCall<T>(
  method: 'GET' | 'POST' | 'DELETE',
  headers: Record<string, string> = {},
): Promise<T> {
  const response = await fetch('/auth/session', { method, headers, cache: 'no-store' });
  if (response.status === 204) return {} as T;
  const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  if (response.ok) return answer as T;
  throw restFailure(response.status, answer);
}

function startSession(): void {
  number += 1;
  setState({ status: 'signed-in', number });
}

function notifyTabs(notice: Notice): void {
  channel.postMessage(notice);
}

function setState(next: SessionState): void {
  state = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
