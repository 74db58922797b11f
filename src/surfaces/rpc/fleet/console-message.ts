import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Console, ConsoleState } from '../../../domain/console/console.ts';
import { Console_State, type ConsoleSchema } from '../../../gen/baremetal/fleet/v1/console_service_pb.ts';

const STATES = {
  closed: Console_State.CLOSED,
  connecting: Console_State.CONNECTING,
  open: Console_State.OPEN,
  waiting: Console_State.WAITING,
} as const satisfies Record<ConsoleState, Console_State>;

export function consoleMessage(console: Console): MessageInitShape<typeof ConsoleSchema> {
  return {
    machineId: console.machineId,
    state: STATES[console.state],
    way: console.way,
    code: console.code,
    message: console.message,
    ...(console.retryAt ? { retryAt: timestampFromDate(console.retryAt) } : {}),
    recorded: console.recorded,
    readers: console.readers.map((reader) => ({
      sessionId: reader.sessionId,
      actor: reader.actor,
      openedAt: timestampFromDate(reader.openedAt),
      writes: reader.writes,
      asks: reader.asks,
    })),
    writerSessionId: console.writer ?? '',
    firstOffset: BigInt(console.firstOffset),
    endOffset: BigInt(console.endOffset),
  };
}
