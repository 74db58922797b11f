import { useSyncExternalStore } from 'react';

/** As narrow as a phone: the width below which styles have one column. */
const PHONE = '(max-width: 599px)';

function watch(notify: () => void): () => void {
  const query = window.matchMedia(PHONE);
  query.addEventListener('change', notify);
  return () => query.removeEventListener('change', notify);
}

export function usePhone(): boolean {
  return useSyncExternalStore(watch, () => window.matchMedia(PHONE).matches);
}
