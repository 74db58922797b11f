import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type CloseMeaning,
  type ErrorMeaning,
  ResumableStream,
  type StreamState,
} from './resumable-stream.ts';

interface Item {
  readonly cursor: string;
}

/** What the server does on one connection, in order: sends an item, fails, sends nothing, or closes at the end. */
type Connection = readonly (string | Error | 'silence')[];

class Silent extends Error {}
const silence = new Silent();

/** Reads a stream from scripted connections. The stop signal fires when the script is used up. */
function script(connections: readonly Connection[], settings: Partial<Parameters<typeof read>[1]> = {}) {
  return read(connections, { onError: () => 'lost', onClosed: () => 'over', ...settings });
}

function read(
  connections: readonly Connection[],
  settings: {
    onError: (error: unknown) => ErrorMeaning;
    onClosed: () => CloseMeaning;
    idleLimitMs?: number;
    liveAfterMs?: number;
  },
) {
  const opened: string[] = [];
  const pauses: number[] = [];
  const states: StreamState[] = [];
  const received: string[] = [];
  const stop = new AbortController();
  async function* open(cursor: string, signal: AbortSignal): AsyncGenerator<Item> {
    const connection = connections[opened.length];
    opened.push(cursor);
    for (const event of connection ?? [silence]) {
      if (event instanceof Silent) await aborted(signal);
      else if (event instanceof Error) throw event;
      else yield { cursor: event };
    }
  }
  const stream = new ResumableStream<Item>({
    ...settings,
    open,
    pauseBeforeRetry: async (failures) => void pauses.push(failures),
    onState: (state) => states.push(state),
  });
  const done = (async () => {
    for await (const { cursor } of stream.items(stop.signal)) received.push(cursor);
  })();
  return { stream, opened, pauses, states, received, stop, done };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

const lost = new Error('connection reset');
const settle = () => vi.advanceTimersByTimeAsync(0);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('a resumable stream', () => {
  it('opens again after the last item when a connection is lost', async () => {
    const { done, opened, received, pauses, states } = script([['a', 'b', lost], ['c']]);
    await done;
    expect({ opened, received, pauses }).toEqual({
      opened: ['', 'b'],
      received: ['a', 'b', 'c'],
      pauses: [0],
    });
    expect(states).toEqual(['live', 'reconnecting', 'live']);
  });

  it('counts the connections in a row that yielded nothing, for the backoff', async () => {
    const { done, pauses } = script([[lost], [lost], ['a', lost], [lost], ['b']]);
    await done;
    expect(pauses).toEqual([1, 2, 0, 1]);
  });

  it('throws an error that another connection would not change, and continues when read again', async () => {
    const denied = new Error('permission denied');
    const { done, stream, opened } = script([['a', denied], ['b']], { onError: () => 'final' });
    await expect(done).rejects.toBe(denied);
    const { value } = await stream.items(new AbortController().signal).next();
    expect(value).toEqual({ cursor: 'b' });
    expect(opened).toEqual(['', 'a']);
  });

  it('continues at once at the cursor that the error names', async () => {
    const tooSlow = new Error('too slow');
    const { done, opened, pauses } = script([['a', tooSlow], ['z']], { onError: () => ({ resumeAt: 'y' }) });
    await done;
    expect({ opened, pauses }).toEqual({ opened: ['', 'y'], pauses: [] });
  });

  it('continues at once at its own cursor when the error names none', async () => {
    const { done, opened } = script([['a', lost], ['b']], { onError: () => ({ resumeAt: undefined }) });
    await done;
    expect(opened).toEqual(['', 'a']);
  });

  it('keeps its cursor when an item has none', async () => {
    const { done, opened } = script([['a', '', lost], []]);
    await done;
    expect(opened).toEqual(['', 'a']);
  });

  it('takes a close as the end, as a loss, or as a reason to ask again', async () => {
    const answers: CloseMeaning[] = ['lost', 'retry', 'over'];
    const { done, states, pauses } = script([['a'], [], ['b']], {
      onClosed: () => answers.shift() ?? 'over',
    });
    await done;
    expect(states).toEqual(['live', 'reconnecting', 'live']);
    expect(pauses).toEqual([0, 0]);
  });

  it('ends quietly when its signal fires', async () => {
    const { done, stop, received } = script([['a', silence]]);
    await settle();
    stop.abort();
    await done;
    expect(received).toEqual(['a']);
  });

  it('takes a connection without heartbeats as lost', async () => {
    const { done, opened, received, pauses } = script([['a', silence], ['b']], { idleLimitMs: 16_000 });
    await vi.advanceTimersByTimeAsync(15_999);
    expect(opened).toEqual(['']);
    await vi.advanceTimersByTimeAsync(1);
    await done;
    expect({ received, pauses }).toEqual({ received: ['a', 'b'], pauses: [0] });
  });

  it('counts as live after a while without an error, also without an item', async () => {
    const { states, stop, done } = script([[silence]], { liveAfterMs: 2_000 });
    await vi.advanceTimersByTimeAsync(1_999);
    expect(states).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(states).toEqual(['live']);
    stop.abort();
    await done;
  });

  it('closes its connection while paused, and continues at its cursor', async () => {
    const { stream, opened, states, received, done } = script([['a', silence], ['b']]);
    await settle();
    stream.pause();
    await settle();
    expect({ opened, states }).toEqual({ opened: [''], states: ['live', 'paused'] });
    stream.resume();
    await done;
    expect({ opened, received }).toEqual({ opened: ['', 'a'], received: ['a', 'b'] });
  });

  it('does not touch an open connection when it is resumed, and replaces it on reconnect', async () => {
    const { stream, opened, pauses, done } = script([['a', silence], ['b']]);
    await settle();
    stream.resume();
    await settle();
    expect(opened).toEqual(['']);
    stream.reconnect();
    await done;
    expect({ opened, pauses }).toEqual({ opened: ['', 'a'], pauses: [] });
  });
});
