/**
 * The token of this tab. It is kept in session storage, which ends with the tab and is never sent by the browser
 * itself, and it is never put into a URL.
 */
import { useSyncExternalStore } from 'react';

const KEY = 'ingot.token';
const listeners = new Set<() => void>();
/** Why the user has to sign in again; shown on the sign-in page. */
let signOutReason = '';

export function sessionToken(): string | null {
  return sessionStorage.getItem(KEY);
}

export function signIn(token: string): void {
  signOutReason = '';
  sessionStorage.setItem(KEY, token);
  notifyListeners();
}

export function signOut(reason: string): void {
  signOutReason = reason;
  sessionStorage.removeItem(KEY);
  notifyListeners();
}

/** The server rejected a token. If it is still the token of this tab, the session ends. */
export function endSessionOf(rejectedToken: string | null): void {
  if (rejectedToken !== sessionToken()) return;
  signOut('Your token is no longer valid: it was revoked or has expired. Sign in with another token.');
}

export function lastSignOutReason(): string {
  return signOutReason;
}

export function useToken(): string | null {
  return useSyncExternalStore(subscribe, sessionToken);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function notifyListeners(): void {
  for (const listener of listeners) listener();
}
