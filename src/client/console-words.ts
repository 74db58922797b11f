/** What a console's state is called, for people. */
import { type Console, Console_State } from '../gen/baremetal/fleet/v1/console_service_pb.ts';

export function stateWords(console: Console): string {
  switch (console.state) {
    case Console_State.OPEN:
      return `connected: ${console.way}`;
    case Console_State.CONNECTING:
      return 'connecting to the BMC...';
    case Console_State.WAITING:
      return `not connected: ${console.message}; trying again`;
    case Console_State.CLOSED:
      return 'waiting for a replica to connect...';
    case Console_State.STATE_UNSPECIFIED:
      return '';
  }
}

/** Who writes, as one of the readers sees it. */
export function turnWords(console: Console, sessionId: string): string {
  const writer = console.readers.find(({ writes }) => writes);
  if (writer === undefined) return 'no one writes';
  return writer.sessionId === sessionId ? 'you write' : `${writer.actor} writes`;
}
