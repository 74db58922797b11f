/** The log of one operation for as long as its page is shown. */
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { operations } from '../../api/clients.ts';
import { useLiveStatus } from '../../live/live.tsx';
import { useWhileVisible } from '../../live/use-while-visible.ts';
import { msOf } from '../../ui/time.tsx';
import { LogBuffer } from './log-buffer.ts';
import { LogTail, type TailChunk, type TailState } from './log-tail.ts';

export interface Log {
  readonly buffer: LogBuffer;
  readonly state: TailState;
  readonly error: unknown;
  readonly retry: () => void;
}

/** Lines that arrive within this time are rendered together. */
const RENDER_MS = 100;

export function useLog(operationId: string, isActive: boolean): Log {
  const active = useRef(isActive);
  active.current = isActive;
  const [created] = useState(() => createLog(operationId, () => active.current));
  const { buffer, tail } = created;
  useSyncExternalStore(created.subscribe, created.version);

  useEffect(() => {
    tail.start();
    return () => tail.stop();
  }, [tail]);
  useWhileVisible(created.whileVisible);

  // The operation continues, for example after a retry.
  useEffect(() => {
    if (isActive && tail.state === 'ended') tail.resume();
  }, [isActive, tail]);

  // A connection can die without an error. The event stream notices that by its heartbeat, so the log reconnects with it.
  const { state: live } = useLiveStatus();
  const wasLost = useRef(false);
  useEffect(() => {
    if (live === 'reconnecting') wasLost.current = true;
    if (live !== 'live' || !wasLost.current) return;
    wasLost.current = false;
    if (tail.state === 'live' || tail.state === 'reconnecting') tail.resume();
  }, [live, tail]);

  return { buffer, state: tail.state, error: tail.error, retry: () => tail.resume() };
}

function createLog(operationId: string, isActive: () => boolean) {
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
      }, RENDER_MS);
    },
  });
  return {
    buffer,
    tail,
    whileVisible: {
      pause: () => tail.pause(),
      onVisible: () => {
        if (tail.state === 'paused') tail.resume();
      },
    },
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
