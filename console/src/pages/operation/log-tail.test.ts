import { Code, ConnectError } from '@connectrpc/connect';
import { describe, expect, it, vi } from 'vitest';
import { LogBuffer } from './log-buffer.ts';
import { LogTail, type TailChunk } from './log-tail.ts';

const chunk = (cursor: string): TailChunk => ({
  at: 0,
  stream: 'stdout',
  step: 'repave',
  data: new TextEncoder().encode(`line ${cursor}\n`),
  cursor,
});

/** Follows a log whose connections deliver these chunks; an error ends its connection. */
function follow(connections: readonly (readonly (string | Error)[])[]) {
  const buffer = new LogBuffer();
  const opened: string[] = [];
  async function* open(cursor: string): AsyncGenerator<TailChunk> {
    const connection = connections[opened.length] ?? [];
    opened.push(cursor);
    for (const event of connection) {
      if (event instanceof Error) throw event;
      yield chunk(event);
    }
  }
  const tail = new LogTail({ buffer, open, isActive: () => false, onChange: () => {} });
  tail.start();
  return { tail, buffer, opened };
}

describe('the tail of a log', () => {
  it('ends with its operation, and continues at its cursor when the operation is retried', async () => {
    const { tail, buffer, opened } = follow([['1', '2'], ['3']]);
    await vi.waitFor(() => expect(tail.state).toBe('ended'));
    tail.resume();
    await vi.waitFor(() => expect(buffer.size).toBe(3));
    expect(opened).toEqual(['', '2']);
    tail.stop();
  });

  it('fails on an error that another connection would not change, and retries when it is resumed', async () => {
    const { tail, buffer } = follow([[new ConnectError('removed', Code.NotFound)], ['1']]);
    await vi.waitFor(() => expect(tail.state).toBe('failed'));
    expect(ConnectError.from(tail.error).code).toBe(Code.NotFound);
    tail.resume();
    await vi.waitFor(() => expect(buffer.size).toBe(1));
    tail.stop();
  });
});
