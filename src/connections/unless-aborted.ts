import { setMaxListeners } from 'node:events';

/** Waits for shared work that no single caller may stop: a caller that is aborted leaves, and the work goes on. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    else {
      // A whole fleet may share one signal: so many listeners are no leak.
      setMaxListeners(0, signal);
      signal.addEventListener('abort', stop, { once: true });
    }
    const leave = () => signal.removeEventListener('abort', stop);
    work.then(resolve, reject).then(leave);
  });
}
