import { useCallback } from 'react';
import { useSearchParams } from 'wouter';

/** One parameter of the page's URL; setting it keeps the others, and is a step that the back button takes back. */
export function useUrlParam(name: string): [value: string, set: (value: string) => void] {
  const [params, setParams] = useSearchParams();
  const set = useCallback(
    (value: string) =>
      setParams((current) => {
        const next = new URLSearchParams(current);
        if (value === '') next.delete(name);
        else next.set(name, value);
        return next;
      }),
    [name, setParams],
  );
  return [params.get(name) ?? '', set];
}
