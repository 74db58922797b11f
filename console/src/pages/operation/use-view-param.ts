import { useCallback } from 'react';
import { useSearchParams } from 'wouter';

/** One parameter of the page's URL, changed in place: the back button leaves the page and does not undo each key. */
export function useViewParam(name: string): [value: string, set: (value: string) => void] {
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
        { replace: true },
      ),
    [name, setParams],
  );
  return [params.get(name) ?? '', set];
}
