/**
 * A stream that outlives its connection. Each item carries a cursor; when the connection is lost, the stream
 * is opened again right after the last item that was handed on, so that the reader sees neither a gap nor a
 * duplicate. It ends when the server ends it, or quietly when the signal fires.
 */
import { CallError, isConnectionLost } from '../connection/call-error.ts';
import type { Reconnect } from './reconnect.ts';

export interface ResumableStream<T> {
  readonly open: (cursor: string) => AsyncIterable<T>;
  readonly reconnect: Reconnect;
  readonly signal: AbortSignal;
  /** A watch has no end of its own: when the server closes it in good order, it is going away. */
  readonly isEndless: boolean;
}

export async function* resume<T extends { readonly cursor: string }>(
  stream: ResumableStream<T>,
): AsyncGenerator<T> {
  let cursor = '';
  while (!stream.signal.aborted) {
    try {
      for await (const item of stream.open(cursor)) {
        if (item.cursor !== '') cursor = item.cursor;
        yield item;
      }
      if (!stream.isEndless) return;
    } catch (error) {
      if (stream.signal.aborted) return;
      if (!isConnectionLost(error)) throw error;
      // Too slow to be sent more: nothing is wrong with the server, and it says where to go on.
      if (error instanceof CallError && error.reason === 'WATCH_TOO_SLOW') {
        cursor = error.metadata.cursor || cursor;
        continue;
      }
    }
    await stream.reconnect.wait(stream.signal);
  }
}
