/**
 * The lines that a job's steps write. They are stored in batches.
 *
 * The log of one job is bounded: it keeps its first lines, which show how the job started, and its last ones, because errors
 * are at the end. Lines of the last part are marked (`tail`); each time that there are twice as many bytes of them as are to be
 * kept, the store removes the older half and counts it. Lines that come faster than they can be stored are dropped in memory
 * by the same rule.
 */
import type { JobStore, LogLine, LogTail, OmittedLines } from './job-store.ts';

const MAX_LINE = 8 * 1024;
const MAX_BATCH = { lines: 1_000, bytes: 256 * 1024 } as const;
/** PostgreSQL's text can't hold NUL and half of a surrogate pair: one of them would fail a whole batch. */
const UNSTORABLE = /[\0\p{Cs}]/gu;

export interface JobLogOptions {
  readonly maxBytes: number;
  readonly now: () => Date;
}

/** A line on its way to the store; null once it was dropped on the way. */
interface Waiting {
  line: LogLine | null;
  readonly bytes: number;
  readonly log: JobLog;
}

/** One writer for all jobs of a replica. */
export class LogWriter {
  readonly #store: Pick<JobStore<never>, 'appendLog'>;
  readonly #onError: (error: unknown) => void;
  #waiting: Waiting[] = [];
  #flushing: Promise<void> | null = null;

  constructor(store: Pick<JobStore<never>, 'appendLog'>, onError: (error: unknown) => void) {
    this.#store = store;
    this.#onError = onError;
  }

  add(waiting: Waiting): void {
    this.#waiting.push(waiting);
    this.#flushing ??= this.#drain();
  }

  /** Resolves when every line that was added so far is stored, or given up with a reported error. */
  async flush(): Promise<void> {
    await this.#flushing;
  }

  /** One flush at a time keeps the lines of a job in order; lines that are added during it form the next batch. */
  async #drain(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, batchSize(this.#waiting));
      const lines = batch.flatMap(({ line }) => line ?? []);
      const isTaken = new Set(batch);
      const tails = [...new Set(batch.map(({ log }) => log))].flatMap((log) => log.taken(isTaken) ?? []);
      // In a flood, all lines of a batch may have been dropped.
      if (lines.length === 0 && tails.length === 0) continue;
      try {
        await this.#store.appendLog(lines, tails);
      } catch (error) {
        this.#onError(error);
      }
    }
    this.#flushing = null;
  }
}

function batchSize(waiting: readonly Waiting[]): number {
  let bytes = 0;
  let count = 0;
  while (count < waiting.length && count < MAX_BATCH.lines && bytes < MAX_BATCH.bytes) {
    bytes += waiting[count]?.line ? (waiting[count]?.bytes ?? 0) : 0;
    count += 1;
  }
  return count;
}

const NONE_OMITTED: OmittedLines = { lines: 0, bytes: 0, before: null };

/** The log of one job under one holder. */
export class JobLog {
  readonly #writer: LogWriter;
  readonly #options: JobLogOptions;
  readonly #ref: { readonly id: string; readonly epoch: number };
  readonly #headBytes: number;
  readonly #tailBytes: number;
  #line = 0;
  /** About how much is stored. */
  #bytes: number;
  /** Lines of the last part that are not stored yet, the oldest first. */
  #pending: Waiting[] = [];
  #pendingBytes = 0;
  #omitted: OmittedLines = NONE_OMITTED;
  #isToBeTrimmed = false;

  constructor(
    writer: LogWriter,
    ref: { readonly id: string; readonly epoch: number; readonly logBytes: number },
    options: JobLogOptions,
  ) {
    this.#writer = writer;
    this.#ref = { id: ref.id, epoch: ref.epoch };
    this.#options = options;
    this.#headBytes = Math.ceil(options.maxBytes / 2);
    this.#tailBytes = Math.ceil(options.maxBytes / 4);
    this.#bytes = ref.logBytes;
  }

  /** A reader who sees the job's next state has all the lines that came before it. */
  async flush(): Promise<void> {
    if (this.#line > 0) await this.#writer.flush();
  }

  get bytes(): number {
    return this.#bytes;
  }

  write(step: string, text: string, stream: 'stdout' | 'stderr'): void {
    for (const part of text.split('\n')) this.#writeLine(step, withoutMiddle(part), stream);
  }

  /** The writer has taken a batch: which lines of this log's last part the store has to remove with it. */
  taken(isTaken: ReadonlySet<Waiting>): LogTail | null {
    if (this.#pending.length > 0) {
      this.#pending = this.#pending.filter((waiting) => !isTaken.has(waiting));
      this.#pendingBytes = this.#pending.reduce((sum, { bytes }) => sum + bytes, 0);
    }
    if (!this.#isToBeTrimmed && this.#omitted.lines === 0) return null;
    const tail = { keepBytes: this.#tailBytes, omitted: this.#omitted, ...this.#ref };
    this.#isToBeTrimmed = false;
    this.#omitted = NONE_OMITTED;
    return tail;
  }

  #writeLine(step: string, text: string, stream: 'stdout' | 'stderr'): void {
    const tail = this.#bytes >= this.#headBytes;
    const bytes = Buffer.byteLength(text) + 1;
    this.#bytes += bytes;
    const at = this.#options.now();
    const line = {
      line: this.#line++,
      at,
      stream,
      step,
      text: text.replace(UNSTORABLE, '�'),
      tail,
      ...this.#ref,
    };
    const waiting: Waiting = { line, bytes, log: this };
    if (tail) this.#hold(waiting);
    this.#writer.add(waiting);
  }

  /** Bounds the lines in memory as the stored ones are bounded. */
  #hold(waiting: Waiting): void {
    this.#pending.push(waiting);
    this.#pendingBytes += waiting.bytes;
    if (this.#bytes >= this.#headBytes + 2 * this.#tailBytes) {
      this.#isToBeTrimmed = true;
      this.#bytes -= this.#tailBytes;
    }
    if (this.#pendingBytes < 2 * this.#tailBytes) return;
    let count = 0;
    while (count < this.#pending.length - 1 && this.#pendingBytes > this.#tailBytes) {
      const oldest = this.#pending[count++];
      if (!oldest) break;
      oldest.line = null;
      this.#pendingBytes -= oldest.bytes;
      this.#omitted = {
        lines: this.#omitted.lines + 1,
        bytes: this.#omitted.bytes + oldest.bytes,
        before: this.#pending[count]?.line?.line ?? null,
      };
    }
    this.#pending = this.#pending.slice(count);
  }
}

/** A long line also keeps its first and last part. */
function withoutMiddle(text: string): string {
  if (text.length <= MAX_LINE) return text;
  const half = MAX_LINE / 2;
  const left = (text.length - MAX_LINE).toLocaleString('en-US');
  return `${text.slice(0, half)}… ${left} characters left out …${text.slice(-half)}`;
}
