import { type Timestamp, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { cursorOf, readCursor } from './page-token.ts';
import type { ServerDependencies } from './server-dependencies.ts';

export interface LogChunkFields {
  readonly ts: Timestamp;
  readonly stream: string;
  readonly data: Uint8Array;
  readonly cursor: string;
  readonly step: string;
}

/** One message for each line, from the cursor on, until the operation ends. */
export async function* streamLog(
  dependencies: ServerDependencies,
  operationId: string,
  cursor: string,
  signal: AbortSignal,
): AsyncGenerator<LogChunkFields> {
  const [epoch, line] = readCursor('log', cursor) ?? [-1, -1];
  for await (const lines of dependencies.logs.follow(operationId, { epoch, line }, signal)) {
    for (const stored of lines) {
      yield {
        ts: timestampFromDate(stored.at),
        stream: stored.stream,
        data: Buffer.from(`${stored.text}\n`),
        cursor: cursorOf('log', [stored.epoch, stored.line]),
        step: stored.step,
      };
    }
  }
}
