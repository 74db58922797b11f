/**
 * A serial console that a client has open, for the CLI and the console: one session, its stream, and what is typed.
 *
 * The stream is opened again where it was lost, at the offset after the last byte, so that nothing is missing and nothing comes twice.
 * A session that ended meanwhile is opened again, and asks for the turn where it had it. What is typed goes out in order, one call at
 * a time, and what is typed meanwhile goes with the next one; what is refused is dropped, because it would be typed too late.
 */
import type {
  Console,
  ConsoleSession,
  ReadConsoleResponse,
} from '../gen/baremetal/fleet/v1/console_service_pb.ts';
import { sleep } from '../time/sleep.ts';

interface Options {
  readonly signal?: AbortSignal;
}

/** Of a client of ConsoleService. */
export interface ConsoleCalls {
  openConsole(request: { readonly machineId: string }, options?: Options): Promise<ConsoleSession>;
  readConsole(
    request: { readonly sessionId: string; readonly offset?: bigint; readonly tailBytes: number },
    options?: Options,
  ): AsyncIterable<ReadConsoleResponse>;
  takeConsole(request: { readonly sessionId: string; readonly steal: boolean }): Promise<Console>;
  releaseConsole(request: { readonly sessionId: string }): Promise<Console>;
  writeConsole(request: {
    readonly sessionId: string;
    readonly data: Uint8Array;
    readonly sendBreak: boolean;
  }): Promise<unknown>;
  closeConsole(request: { readonly sessionId: string }): Promise<unknown>;
}

/** Whether the session writes: never, when no other does, or at once. */
export type WriteMode = 'read' | 'ask' | 'steal';

export interface AttachmentSettings {
  readonly calls: ConsoleCalls;
  readonly machineId: string;
  readonly writeMode: WriteMode;
  /** How much of what was before is shown first; an offset in its place continues there. */
  readonly tailBytes: number;
  readonly offset?: bigint;
  /** UPPER_SNAKE_CASE; empty: the error is none of the server's. */
  readonly reasonOf: (error: unknown) => string;
  /** Another connection may succeed. */
  readonly isLost: (error: unknown) => boolean;
  readonly pauseBeforeRetry: (failures: number, signal: AbortSignal) => Promise<void>;
  readonly onOutput: (data: Uint8Array, droppedBytes: bigint) => void | Promise<void>;
  readonly onConsole: (console: Console, sessionId: string) => void;
  /** Something that was asked for was refused. */
  readonly onRefused: (error: unknown) => void;
}

const MAX_TYPED_BYTES = 4_096;
/** Without a message for this long, the connection counts as lost: the server sends one at least every 5 seconds. */
const IDLE_MS = 20_000;
const CLOSE_MS = 2_000;

export class ConsoleAttachment {
  readonly #settings: AttachmentSettings;
  #sessionId = '';
  #writeMode: WriteMode;
  #offset: bigint | undefined;
  #waiting: Uint8Array[] = [];
  #isTyping = false;

  constructor(settings: AttachmentSettings) {
    this.#settings = settings;
    this.#writeMode = settings.writeMode;
    this.#offset = settings.offset;
  }

  get sessionId(): string {
    return this.#sessionId;
  }

  /** Until the signal; throws an error that another connection would not change. */
  async run(signal: AbortSignal): Promise<void> {
    const { isLost, reasonOf, pauseBeforeRetry } = this.#settings;
    let failures = 0;
    while (!signal.aborted) {
      const before = this.#offset;
      try {
        await this.#connection(signal);
      } catch (error) {
        if (signal.aborted) break;
        if (reasonOf(error) === 'CONSOLE_SESSION_NOT_FOUND') this.#sessionId = '';
        else if (!isLost(error)) throw error;
      }
      if (signal.aborted) break;
      failures = before === this.#offset ? failures + 1 : 0;
      await pauseBeforeRetry(failures, signal);
    }
    await this.#close();
  }

  /** Asks for the turn to write, or takes it. */
  take(how: 'ask' | 'steal'): void {
    this.#writeMode = how;
    void this.#request(() =>
      this.#settings.calls.takeConsole({ sessionId: this.#sessionId, steal: how === 'steal' }),
    );
  }

  release(): void {
    this.#writeMode = 'read';
    void this.#request(() => this.#settings.calls.releaseConsole({ sessionId: this.#sessionId }));
  }

  sendBreak(): void {
    const { calls } = this.#settings;
    const data = new Uint8Array();
    void this.#request(() => calls.writeConsole({ sessionId: this.#sessionId, data, sendBreak: true }));
  }

  type(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#waiting.push(bytes);
    if (!this.#isTyping) void this.#sendTyped();
  }

  async #connection(signal: AbortSignal): Promise<void> {
    const { calls, onOutput, onConsole, tailBytes } = this.#settings;
    const idle = new AbortController();
    const connection = AbortSignal.any([signal, idle.signal]);
    if (this.#sessionId === '') await this.#open(connection);
    const sessionId = this.#sessionId;
    const from = this.#offset === undefined ? { tailBytes } : { tailBytes: 0, offset: this.#offset };
    let timer = setTimeout(() => idle.abort(), IDLE_MS);
    try {
      for await (const message of calls.readConsole({ sessionId, ...from }, { signal: connection })) {
        clearTimeout(timer);
        timer = setTimeout(() => idle.abort(), IDLE_MS);
        if (message.console) onConsole(message.console, sessionId);
        this.#offset = message.offset + BigInt(message.data.length);
        if (message.data.length > 0 || message.droppedBytes > 0n)
          await onOutput(message.data, message.droppedBytes);
      }
    } catch (error) {
      if (!idle.signal.aborted) throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  async #open(signal: AbortSignal): Promise<void> {
    const { calls, machineId, onConsole } = this.#settings;
    const { sessionId, console } = await calls.openConsole({ machineId }, { signal });
    this.#sessionId = sessionId;
    if (console) onConsole(console, sessionId);
    if (this.#writeMode === 'read') return;
    const taken = await calls.takeConsole({ sessionId, steal: this.#writeMode === 'steal' });
    onConsole(taken, sessionId);
    // A session that ends later asks for the turn; it does not take it from another one again.
    this.#writeMode = 'ask';
  }

  async #sendTyped(): Promise<void> {
    this.#isTyping = true;
    while (this.#waiting.length > 0) {
      const data = this.#nextTyped();
      const { calls } = this.#settings;
      const sent = await this.#request(() =>
        calls.writeConsole({ sessionId: this.#sessionId, data, sendBreak: false }),
      );
      if (!sent) this.#waiting = [];
    }
    this.#isTyping = false;
  }

  #nextTyped(): Uint8Array {
    const taken: number[] = [];
    while (taken.length < MAX_TYPED_BYTES) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      const room = MAX_TYPED_BYTES - taken.length;
      taken.push(...next.subarray(0, room));
      if (next.length > room) this.#waiting.unshift(next.subarray(room));
    }
    return Uint8Array.from(taken);
  }

  /** Whether it was answered. */
  async #request(call: () => Promise<unknown>): Promise<boolean> {
    try {
      await call();
      return true;
    } catch (error) {
      this.#settings.onRefused(error);
      return false;
    }
  }

  /** A session that can't be closed now ends by itself. */
  async #close(): Promise<void> {
    if (this.#sessionId === '') return;
    const { calls } = this.#settings;
    const closing = calls.closeConsole({ sessionId: this.#sessionId }).catch(() => {});
    const over = new AbortController();
    await Promise.race([closing, sleep(CLOSE_MS, over.signal)]);
    over.abort();
  }
}
