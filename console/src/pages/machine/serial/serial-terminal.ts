/** A terminal in the page, and the serial console that it shows. */
import { ConnectError } from '@connectrpc/connect';
import { Terminal } from '@xterm/xterm';
import { ConsoleAttachment } from '../../../../../src/client/console-attachment.ts';
import { backoffPause } from '../../../../../src/client/resumable-stream.ts';
import type { Console } from '../../../../../src/gen/baremetal/fleet/v1/console_service_pb.ts';
import { ErrorInfoSchema } from '../../../../../src/gen/google/rpc/error_details_pb.ts';
import { consoles } from '../../../api/clients.ts';
import { failureOf, isTransient } from '../../../api/failure.ts';
import { styledDocument } from './styled-document.ts';
import '@xterm/xterm/css/xterm.css';

export interface SerialTerminal {
  readonly attachment: ConsoleAttachment;
  /** Whether keys are typed. */
  setWriting(writes: boolean): void;
  focus(): void;
  /** Ends the session. */
  close(): void;
}

export interface SerialTerminalEvents {
  readonly onConsole: (console: Console, sessionId: string) => void;
  readonly onRefused: (message: string) => void;
  /** It does not go on. */
  readonly onFailed: (error: unknown) => void;
}

/** What is shown first of what was before. */
const TAIL_BYTES = 16 * 1024;
const SIZE = { cols: 80, rows: 24 } as const;

export function openSerialTerminal(
  host: HTMLElement,
  machineId: string,
  events: SerialTerminalEvents,
): SerialTerminal {
  const styled = styledDocument(host.ownerDocument);
  const terminal = new Terminal({
    ...SIZE,
    scrollback: 5_000,
    screenReaderMode: true,
    fontFamily: getComputedStyle(host).fontFamily,
    fontSize: 13,
    documentOverride: styled.document,
  });
  const leaving = new AbortController();
  let writes = false;
  terminal.open(host);
  terminal.textarea?.setAttribute('aria-label', `Serial console of ${machineId}`);
  // Keys are the page's own while nothing is typed, and Shift+Tab always leaves the terminal.
  terminal.attachCustomKeyEventHandler(({ key, shiftKey }) => writes && !(key === 'Tab' && shiftKey));
  const attachment = new ConsoleAttachment({
    calls: consoles,
    machineId,
    writeMode: 'read',
    tailBytes: TAIL_BYTES,
    reasonOf,
    isLost: isTransient,
    pauseBeforeRetry: backoffPause({ firstMs: 500, maxMs: 5_000 }),
    onOutput: (data, dropped) => {
      if (dropped > 0n) terminal.write(`\r\n[ingot: ${dropped} bytes before this were dropped]\r\n`);
      return new Promise((resolve) => terminal.write(data, resolve));
    },
    onConsole: events.onConsole,
    onRefused: (error) => events.onRefused(failureOf(error).message),
  });
  terminal.onData((text) => writes && attachment.type(new TextEncoder().encode(text)));
  terminal.onBinary((text) => writes && attachment.type(Uint8Array.from(text, (one) => one.charCodeAt(0))));
  attachment.run(leaving.signal).catch(events.onFailed);
  return {
    attachment,
    setWriting: (now) => {
      writes = now;
      terminal.options.cursorBlink = now;
    },
    focus: () => terminal.focus(),
    close: () => {
      leaving.abort();
      terminal.dispose();
      styled.remove();
    },
  };
}

function reasonOf(error: unknown): string {
  return ConnectError.from(error).findDetails(ErrorInfoSchema)[0]?.reason ?? '';
}
