/** The log of one operation for as long as its page is shown. */
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { operations } from '../../api/clients.ts';
import { useLiveStatus } from '../../live/live.tsx';
import { msOf } from '../../ui/time.tsx';
import { LogBuffer } from './log-buffer.ts';
import { LogTail, type TailChunk, type TailState } from './log-tail.ts';

export interface Log {
  readonly buffer: LogBuffer;
  readonly state: TailState;
  readonly error: unknown;
  readonly retry: () => void;
}

/** Lines that come together are drawn together. */
const DRAW_MS = 100;
/** A tab that nobody looks at gives its connection back: browsers have few for one server. */
const HIDDEN_MS = 15_000;

export function useLog(operationId: string, isActive: boolean): Log {
  const active = useRef(isActive);
  active.current = isActive;
  const [made] = useState(() => makeLog(operationId, () => active.current));
  const { buffer, tail } = made;
  useSyncExternalStore(made.subscribe, made.version);

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onVisibility = () => {
      clearTimeout(timer);
      if (document.visibilityState === 'hidden') timer = setTimeout(() => tail.pause(), HIDDEN_MS);
      else if (tail.state === 'paused') tail.resume();
    };
    document.addEventListener('visibilitychange', onVisibility);
    tail.start();
    // A tab that was opened in the background is told nothing until somebody looks at it.
    onVisibility();
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisibility);
      tail.stop();
    };
  }, [tail]);

  // Somebody had it go on.
  useEffect(() => {
    if (isActive && tail.state === 'ended') tail.resume();
  }, [isActive, tail]);

  // A connection that is dead without a word is known by the live stream, which says every few seconds that it lives.
  const { state: live } = useLiveStatus();
  const wasCut = useRef(false);
  useEffect(() => {
    if (live === 'reconnecting') wasCut.current = true;
    if (live !== 'live' || !wasCut.current) return;
    wasCut.current = false;
    if (tail.state === 'live' || tail.state === 'reconnecting') tail.resume();
  }, [live, tail]);

  return { buffer, state: tail.state, error: tail.error, retry: () => tail.resume() };
}

function makeLog(operationId: string, isActive: () => boolean) {
  const listeners = new Set<() => void>();
  let version = 0;
  let isWaiting = false;
  const buffer = new LogBuffer();
  const tail = new LogTail({
    buffer,
    isActive,
    open: (cursor, signal) => chunksOf(operationId, cursor, signal),
    onChange() {
      if (isWaiting) return;
      isWaiting = true;
      setTimeout(() => {
        isWaiting = false;
        version += 1;
        for (const listener of listeners) listener();
      }, DRAW_MS);
    },
  });
  return {
    buffer,
    tail,
    version: () => version,
    subscribe(listener: () => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

async function* chunksOf(
  operationId: string,
  cursor: string,
  signal: AbortSignal,
): AsyncGenerator<TailChunk> {
  for await (const chunk of operations.streamOperationLogs({ operationId, cursor }, { signal })) {
    yield {
      at: msOf(chunk.ts) ?? 0,
      stream: chunk.stream,
      step: chunk.step,
      data: chunk.data,
      cursor: chunk.cursor,
    };
  }
}
