import { useEffect } from 'react';

/** A hidden tab releases its connection: a browser has only a few per server, and all tabs share them. */
const HIDDEN_MS = 15_000;

export interface Pausable {
  pause(): void;
  /** Called whenever the tab becomes visible, paused or not. */
  onVisible(): void;
}

/** Must be stable. */
export function useWhileVisible(stream: Pausable): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onVisibility = () => {
      clearTimeout(timer);
      if (document.visibilityState === 'hidden') timer = setTimeout(() => stream.pause(), HIDDEN_MS);
      else stream.onVisible();
    };
    document.addEventListener('visibilitychange', onVisibility);
    // A tab that was opened in the background gets no event until it becomes visible.
    onVisibility();
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisibility);
    };
  }, [stream]);
}
