/**
 * The token of this tab. It lives in session storage, which ends with the tab and is sent nowhere by itself, and never
 * in a URL.
 */
import { useSyncExternalStore } from 'react';

const KEY = 'ingot.token';
const listeners = new Set<() => void>();
/** Why somebody who was signed in has to sign in again. */
let goodbye = '';

export function tokenOfSession(): string | null {
  return sessionStorage.getItem(KEY);
}

export function signIn(token: string): void {
  goodbye = '';
  sessionStorage.setItem(KEY, token);
  tell();
}

export function signOut(reason: string): void {
  goodbye = reason;
  sessionStorage.removeItem(KEY);
  tell();
}

export function signedOutBecause(): string {
  return goodbye;
}

export function useToken(): string | null {
  return useSyncExternalStore(subscribe, tokenOfSession);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(): void {
  for (const listener of listeners) listener();
}
