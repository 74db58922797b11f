import { useCallback } from 'react';
import { useSearchParams } from 'wouter';

/**
 * One parameter of the page's URL; setting it keeps the others. `push` adds a history entry, which the back button
 * undoes. `replace` does not, for text that changes with every key.
 */
export function useUrlParam(
  name: string,
  history: 'push' | 'replace' = 'push',
): [value: string, set: (value: string) => void] {
  const [params, setParams] = useSearchParams();
  const set = useCallback(
    (value: string) =>
      setParams(
        (current) => {
          const next = new URLSearchParams(current);
          if (value === '') next.delete(name);
          else next.set(name, value);
          return next;
        },
        { replace: history === 'replace' },
      ),
    [name, history, setParams],
  );
  return [params.get(name) ?? '', set];
}
