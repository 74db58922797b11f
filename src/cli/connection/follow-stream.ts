/** A stream of the API as a command reads it: it waits for a lost server, and continues after the last item. */
import { type ErrorMeaning, ResumableStream } from '../../client/resumable-stream.ts';
import { CallError, isConnectionLost } from './call-error.ts';
import type { Reconnect } from './reconnect.ts';

export interface FollowedStream<T> {
  readonly open: (cursor: string, signal: AbortSignal) => AsyncIterable<T>;
  readonly reconnect: Reconnect;
  readonly signal: AbortSignal;
  /** `lost` for a watch, which has no end; `over` for a log, which ends with its operation. */
  readonly whenClosed: 'lost' | 'over';
}

export function followStream<T extends { readonly cursor: string }>({
  open,
  reconnect,
  signal,
  whenClosed,
}: FollowedStream<T>): AsyncGenerator<T, void> {
  return new ResumableStream<T>({
    open,
    onError: meaningOf,
    onClosed: () => whenClosed,
    pauseBeforeRetry: () => reconnect.wait(signal),
  }).items(signal);
}

function meaningOf(error: unknown): ErrorMeaning {
  if (!isConnectionLost(error)) return 'final';
  // The server cut a reader that was too slow, and says where to continue. It does respond, so nothing is probed.
  const isTooSlow = error instanceof CallError && error.reason === 'WATCH_TOO_SLOW';
  return isTooSlow ? { resumeAt: error.metadata.cursor || undefined } : 'lost';
}
