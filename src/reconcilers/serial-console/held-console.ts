/**
 * A console that this replica holds: connects to the BMC, again after every end, stores what the machine writes, and types what the
 * writer types. Everything that it stores is fenced by the epoch of its claim, so a replica that was taken for dead stores nothing
 * more. It ends when it is stopped, when another replica has taken over, or when the console does not exist any more.
 */
import { ConsoleFailure } from '../../domain/console/console.ts';
import { SecretMask } from '../../domain/console/secret-mask.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import type { ConsoleConnection, Provider, SerialConsole } from '../../providers/provider.ts';
import { takeInput } from '../../store/consoles/console-input.ts';
import { type ClaimedConsole, setConsoleState } from '../../store/consoles/console-lease.ts';
import { appendMark, appendOutput, trimOutput } from '../../store/consoles/console-output.ts';
import type { ConsoleSignals } from '../../store/consoles/console-signals.ts';
import type { Database } from '../../store/database/database.ts';
import type { MachineReader } from '../../store/machines/machines.ts';
import { type BackoffPolicy, backoffMs } from '../../time/backoff.ts';
import { sleep } from '../../time/sleep.ts';

export interface HeldConsoleDependencies {
  readonly database: Database;
  readonly machines: MachineReader;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly signals: ConsoleSignals;
  readonly now: () => Date;
  readonly monotonicNow: () => number;
  readonly random: () => number;
  /** What is neither the BMC's fault nor the database's. */
  readonly onUnexpected: (machineId: string, error: unknown) => void;
}

const PIECE_BYTES = 16 * 1024;
/** Output is gathered for so long before it is stored; shorter while someone reads it. */
const GATHER_MS = 500;
const GATHER_READ_MS = 40;
const TRIM_EVERY_BYTES = 64 * 1024;
/** Between two attempts, by what the last one met. */
const UNAVAILABLE: BackoffPolicy = { firstMs: 1_000, maxMs: 30_000 };
const REFUSED: BackoffPolicy = { firstMs: 15_000, maxMs: 300_000 };
const STORE_RETRY_MS = 1_000;
const INPUT_POLL_MS = 1_000;

/** Another replica holds it. */
class TakenOver extends Error {}

export class HeldConsole {
  readonly claim: ClaimedConsole;
  readonly over: Promise<void>;
  readonly #dependencies: HeldConsoleDependencies;
  readonly #stopping = new AbortController();
  readonly #mask = new SecretMask();
  /** Ends the wait before the next attempt. */
  #hurry = new AbortController();
  #steals = false;
  #isRead = true;
  #wasLost: boolean;
  #sinceTrim = TRIM_EVERY_BYTES;
  /** The last problem that readers were shown. */
  #lastMark = '';

  constructor(claim: ClaimedConsole, dependencies: HeldConsoleDependencies) {
    this.claim = claim;
    this.#wasLost = claim.wasLost;
    this.#dependencies = dependencies;
    this.over = this.#run();
  }

  /** Closes the connection; `over` resolves when it is closed. */
  stop(): void {
    this.#stopping.abort();
  }

  /** What the last renewal of the lease found. */
  renewed({ sessions, steals }: { readonly sessions: number; readonly steals: boolean }): void {
    this.#isRead = sessions > 0;
    if (!steals || this.#steals) return;
    this.#steals = true;
    this.#hurry.abort();
  }

  async #run(): Promise<void> {
    const stop = this.#stopping.signal;
    let failures = 0;
    while (!stop.aborted) {
      const startedAt = this.#dependencies.monotonicNow();
      try {
        await this.#session();
        return;
      } catch (error) {
        if (stop.aborted || error instanceof TakenOver) return;
        // A connection that lasted is a new start.
        if (this.#dependencies.monotonicNow() - startedAt > UNAVAILABLE.maxMs) failures = 0;
        failures += 1;
        await this.#waitAfter(error, failures).catch(async (away: unknown) => {
          if (away instanceof TakenOver) return this.#stopping.abort();
          this.#dependencies.onUnexpected(this.claim.machineId, away);
          await sleep(STORE_RETRY_MS, stop);
        });
      }
    }
  }

  /** From connecting to the end of the connection. Returns only when it was stopped. */
  async #session(): Promise<void> {
    const { database, machines, providers } = this.#dependencies;
    const { machineId } = this.claim;
    const stop = this.#stopping.signal;
    const machine = await machines.find(machineId, null);
    if (machine === null) throw new TakenOver();
    const port = providers.get(machine.spec.provider)?.capabilities.console;
    if (!port) throw new ConsoleFailure('CONSOLE_NOT_OFFERED', 'the provider of the machine has no console');
    // What is open at the BMC is most likely the connection that was lost, of this holder or the one before.
    const inUse = this.#steals || this.#wasLost ? 'end' : 'leave';
    const connection = await port.open(machine, { signal: stop, inUse });
    this.#steals = false;
    this.#wasLost = false;
    try {
      this.#checkHeld(await setConsoleState(database, this.claim, { state: 'open', way: connection.way }));
      this.#lastMark = '';
      await this.#mark(`connected: ${connection.way}`);
      await this.#pump(connection, port);
    } finally {
      await connection.close();
      this.#wasLost = connection.isLeftOpen;
    }
  }

  async #pump(connection: ConsoleConnection, port: SerialConsole): Promise<void> {
    // An abort that came while the connection was made is reported to no listener that is added now.
    this.#stopping.signal.throwIfAborted();
    const ended = new AbortController();
    const stop = AbortSignal.any([this.#stopping.signal, ended.signal]);
    const closing = () => void connection.close();
    this.#stopping.signal.addEventListener('abort', closing, { once: true });
    const typing = this.#type(connection, stop);
    // Whichever fails ends both.
    typing.catch(() => connection.close());
    try {
      await this.#store(connection, port);
    } finally {
      this.#stopping.signal.removeEventListener('abort', closing);
      ended.abort();
      await typing;
    }
    if (!this.#stopping.signal.aborted)
      throw new ConsoleFailure('CONSOLE_ENDED', 'the BMC ended the connection to the console');
  }

  /** Reads as fast as it can store, so that a machine that writes without end waits for the database. */
  async #store(connection: ConsoleConnection, port: SerialConsole): Promise<void> {
    const { monotonicNow } = this.#dependencies;
    const output = connection.output[Symbol.asyncIterator]();
    let next = output.next();
    for (;;) {
      const first = await next;
      if (first.done) return;
      const pieces = [first.value];
      let length = first.value.length;
      const storeAt = monotonicNow() + (this.#isRead ? GATHER_READ_MS : GATHER_MS);
      next = output.next();
      // A failure is thrown where it is awaited, after what came before it was stored.
      next.catch(() => {});
      while (length < PIECE_BYTES) {
        const left = storeAt - monotonicNow();
        const more = left > 0 ? await resultWithin(next, left) : null;
        if (more === null || more.done) break;
        pieces.push(more.value);
        length += more.value.length;
        next = output.next();
        next.catch(() => {});
      }
      await this.#append(Buffer.concat(pieces), port);
    }
  }

  async #append(bytes: Buffer, port: SerialConsole): Promise<void> {
    const { database } = this.#dependencies;
    const shown = this.#mask.hide(bytes);
    for (let from = 0; from < shown.length; from += PIECE_BYTES) {
      const piece = shown.subarray(from, from + PIECE_BYTES);
      this.#checkHeld(await appendOutput(database, { ...this.claim, bytes: piece }));
      this.#sinceTrim += piece.length;
    }
    if (this.#sinceTrim < TRIM_EVERY_BYTES) return;
    this.#sinceTrim = 0;
    await trimOutput(database, this.claim.machineId, port.keptBytes);
  }

  async #type(connection: ConsoleConnection, stop: AbortSignal): Promise<void> {
    const { database, signals } = this.#dependencies;
    const { signal, release } = signals.use(this.claim.machineId);
    try {
      while (!stop.aborted) {
        const { count } = signal;
        for (const { bytes, sendBreak } of await takeInput(database, this.claim)) {
          if (bytes.length > 0) await connection.write(bytes);
          if (sendBreak && connection.canBreak) await connection.sendBreak();
          else if (sendBreak) await this.#mark(`no break was sent: ${connection.way} can't send one`);
        }
        await signal.wait(count, stop, INPUT_POLL_MS);
      }
    } finally {
      release();
    }
  }

  /** Says why, for everyone to see, and waits for the next attempt. */
  async #waitAfter(error: unknown, failures: number): Promise<void> {
    const { database, random, onUnexpected } = this.#dependencies;
    const { machineId } = this.claim;
    const { code, message, policy } = problemOf(error);
    if (code === 'INTERNAL') onUnexpected(machineId, error);
    const retryInMs = Math.round(backoffMs(policy, failures, random()));
    const state = { state: 'waiting', code, message, retryInMs } as const;
    this.#checkHeld(await setConsoleState(database, this.claim, state));
    if (this.#lastMark !== message) await this.#mark(`not connected: ${message}`);
    this.#lastMark = message;
    this.#hurry = new AbortController();
    if (!this.#steals) await sleep(retryInMs, AbortSignal.any([this.#stopping.signal, this.#hurry.signal]));
    if (this.#stopping.signal.aborted) return;
    this.#checkHeld(await setConsoleState(database, this.claim, { state: 'connecting', code, message }));
  }

  async #mark(text: string): Promise<void> {
    const { database, now } = this.#dependencies;
    await appendMark(database, this.claim.machineId, { at: now(), text });
  }

  #checkHeld(isHeld: boolean): void {
    if (!isHeld) throw new TakenOver();
  }
}

interface Problem {
  readonly code: string;
  readonly message: string;
  readonly policy: BackoffPolicy;
}

function problemOf(error: unknown): Problem {
  if (error instanceof ConsoleFailure)
    return {
      code: error.code,
      message: error.message,
      policy: error.code === 'CONSOLE_ENDED' ? UNAVAILABLE : REFUSED,
    };
  if (error instanceof StepFailure) {
    const { code, message, class: kind } = error.failure;
    return { code, message, policy: kind === 'retryable' ? UNAVAILABLE : REFUSED };
  }
  return {
    code: 'INTERNAL',
    message: 'an unexpected error, which is in the log of the server',
    policy: UNAVAILABLE,
  };
}

/** Null: the time was over first. */
async function resultWithin<T>(work: Promise<T>, ms: number): Promise<T | null> {
  const over = new AbortController();
  try {
    return await Promise.race([work, sleep(ms, over.signal).then(() => null)]);
  } finally {
    over.abort();
  }
}
