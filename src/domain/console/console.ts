/** The serial console of a machine: what is known of it, and who has it open. */

export type ConsoleState = 'closed' | 'connecting' | 'open' | 'waiting';

/** Why there is no connection, where the reason is the console itself. Other failures have the codes of failure-code.ts. */
export type ConsoleProblem = 'CONSOLE_IN_USE' | 'CONSOLE_NOT_OFFERED' | 'CONSOLE_ENDED';

export class ConsoleFailure extends Error {
  readonly code: ConsoleProblem;

  constructor(code: ConsoleProblem, message: string) {
    super(message);
    this.name = 'ConsoleFailure';
    this.code = code;
  }
}

export interface ConsoleReader {
  readonly sessionId: string;
  /** Such as operator:alice. */
  readonly actor: string;
  readonly openedAt: Date;
  readonly writes: boolean;
  readonly asks: boolean;
}

export interface Console {
  readonly machineId: string;
  readonly state: ConsoleState;
  readonly way: string;
  readonly code: string;
  readonly message: string;
  readonly retryAt: Date | null;
  readonly recorded: boolean;
  readonly readers: readonly ConsoleReader[];
  readonly writer: string | null;
  readonly firstOffset: number;
  readonly endOffset: number;
}

/** Of a machine whose console was never opened. */
export function unopenedConsole(machineId: string): Console {
  return {
    machineId,
    state: 'closed',
    way: '',
    code: '',
    message: '',
    retryAt: null,
    recorded: false,
    readers: [],
    writer: null,
    firstOffset: 0,
    endOffset: 0,
  };
}

/** What one call may type. */
export const MAX_TYPED_BYTES = 4_096;
/** What one message of a stream, and one answer with a part of the log, has at most. */
export const MAX_READ_BYTES = 1024 * 1024;
/** How many sessions a console has at most. */
export const MAX_SESSIONS = 32;
/** A session whose client is not seen for so long ends. */
export const SESSION_SECONDS = 30;

/** A line of Ingot's own among the output, on a line of its own wherever the cursor is. */
export function markLine(at: Date, text: string): Uint8Array {
  return Buffer.from(`\r\n[ingot ${at.toISOString().slice(0, 19)}Z: ${text}]\r\n`);
}
