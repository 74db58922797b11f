import { type Timestamp, timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Operation } from '../../domain/operation/operation.ts';
import { idsInScope } from '../../store/filter/scope-condition.ts';
import { operationNotFound } from '../../store/operations/operation-faults.ts';
import { cursorOf, readCursor } from './page-token.ts';
import type { ServerDependencies } from './server-dependencies.ts';
import type { CallContext } from './service.ts';

export interface LogChunkFields {
  readonly ts: Timestamp;
  readonly stream: string;
  readonly data: Uint8Array;
  readonly cursor: string;
  readonly step: string;
}

/**
 * One message for each line, from the cursor on, until the operation ends or its machine leaves the caller's scope: that is
 * checked with every batch, also an empty one, for a log may have no new line for hours.
 */
export async function* streamLog(
  dependencies: ServerDependencies,
  { operationId, machineId }: Operation,
  cursor: string,
  { caller: { scope }, signal }: CallContext,
): AsyncGenerator<LogChunkFields> {
  const [epoch, line] = readCursor('log', cursor) ?? [-1, -1];
  for await (const lines of dependencies.logs.follow(operationId, { epoch, line }, signal)) {
    const isVisible =
      scope === null || (await idsInScope(dependencies.database, scope, [machineId])).size > 0;
    if (!isVisible) throw operationNotFound(operationId);
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
