/** A client that has a console open: reads its stream in the background and keeps what came. */
import type { Console, ConsoleService } from '../../src/gen/baremetal/fleet/v1/console_service_pb.ts';
import type { Client } from '../parts/server.ts';
import { until } from '../parts/until.ts';

export interface OpenConsole {
  readonly sessionId: string;
  readonly text: () => string;
  readonly console: () => Console | undefined;
  readonly offset: () => bigint;
  readonly dropped: () => bigint;
  readonly error: () => unknown;
  type(text: string): Promise<unknown>;
  /** Until the output has this text. */
  shows(text: string): Promise<void>;
  /** Ends the stream, and leaves the session. */
  leave(): Promise<void>;
}

export async function openConsole(
  client: Client<typeof ConsoleService>,
  machineId: string,
  from: { readonly sessionId?: string; readonly offset?: bigint; readonly tailBytes?: number } = {},
): Promise<OpenConsole> {
  const sessionId = from.sessionId ?? (await client.openConsole({ machineId })).sessionId;
  const stream = client.readConsole({ ...from, sessionId });
  let isLeaving = false;
  let text = '';
  let console: Console | undefined;
  let offset = 0n;
  let dropped = 0n;
  let error: unknown;
  const reading = (async () => {
    try {
      for await (const message of stream) {
        text += Buffer.from(message.data).toString('latin1');
        offset = message.offset + BigInt(message.data.length);
        dropped += message.droppedBytes;
        console = message.console ?? console;
      }
    } catch (thrown) {
      if (!isLeaving) error = thrown;
    }
  })();
  return {
    sessionId,
    text: () => text,
    console: () => console,
    offset: () => offset,
    dropped: () => dropped,
    error: () => error,
    type: (typed) => client.writeConsole({ sessionId, data: Buffer.from(typed, 'latin1') }),
    shows: async (wanted) => {
      await until(
        () => ({ text, error }),
        (now) => now.text.includes(wanted) || now.error !== undefined,
        20_000,
      );
      if (!text.includes(wanted)) throw error;
    },
    leave: async () => {
      isLeaving = true;
      stream.cancel();
      await reading;
    },
  };
}
