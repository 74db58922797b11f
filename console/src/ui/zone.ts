/** Whether times are local or UTC: one switch for the whole console, kept on this computer. */
import { useSyncExternalStore } from 'react';
import type { Zone } from './clock-text.ts';

const KEY = 'ingot.times';
const listeners = new Set<() => void>();

export function zone(): Zone {
  return localStorage.getItem(KEY) === 'utc' ? 'utc' : 'local';
}

export function chooseZone(chosen: Zone): void {
  localStorage.setItem(KEY, chosen);
  for (const notify of listeners) notify();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useZone(): Zone {
  return useSyncExternalStore(subscribe, zone);
}
