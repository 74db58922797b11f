/**
 * The one sleep of this program. Resolves after `ms`, or as soon as the signal is aborted; never rejects. A caller for whom
 * an abort is an error calls `signal.throwIfAborted()` afterwards.
 */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end, { once: true });
  });
}
