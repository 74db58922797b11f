/**
 * The lines that a job's steps write. They are gathered for a moment and stored many at a time; the number of
 * bytes kept of one job is bounded, and a mark says where the rest was left out.
 */
import type { JobStore, LogLine } from './job-store.ts';

export const TRUNCATION_MARK = '… the log is full; further lines are not kept';
const MAX_LINE = 8 * 1024;
/** What PostgreSQL's text can't hold: NUL, and half of a surrogate pair. One of them would refuse a whole batch. */
const UNSTORABLE = /[\0\p{Cs}]/gu;

export interface JobLogOptions {
  readonly maxBytes: number;
  readonly now: () => Date;
}

/** One writer for all jobs of a replica. */
export class LogWriter {
  readonly #store: Pick<JobStore<never>, 'appendLog'>;
  readonly #onError: (error: unknown) => void;
  #waiting: LogLine[] = [];
  #flushing: Promise<void> | null = null;

  constructor(store: Pick<JobStore<never>, 'appendLog'>, onError: (error: unknown) => void) {
    this.#store = store;
    this.#onError = onError;
  }

  add(line: LogLine): void {
    this.#waiting.push(line);
    this.#flushing ??= this.#drain();
  }

  /** Resolves when every line that was added so far is stored, or was given up with an error told. */
  async flush(): Promise<void> {
    await this.#flushing;
  }

  /** One flush at a time keeps the lines of a job in order; what comes meanwhile forms the next batch. */
  async #drain(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, 1000);
      try {
        await this.#store.appendLog(batch);
      } catch (error) {
        this.#onError(error);
      }
    }
    this.#flushing = null;
  }
}

/** The log of one job while one holder has it. */
export class JobLog {
  readonly #writer: LogWriter;
  readonly #options: JobLogOptions;
  readonly #ref: { readonly id: string; readonly epoch: number };
  #line = 0;
  #bytes: number;

  constructor(
    writer: LogWriter,
    ref: { readonly id: string; readonly epoch: number; readonly logBytes: number },
    options: JobLogOptions,
  ) {
    this.#writer = writer;
    this.#ref = { id: ref.id, epoch: ref.epoch };
    this.#options = options;
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
    for (const part of text.split('\n')) this.#writeLine(step, part.slice(0, MAX_LINE), stream);
  }

  #writeLine(step: string, text: string, stream: 'stdout' | 'stderr'): void {
    if (this.#bytes >= this.#options.maxBytes) return;
    this.#bytes += Buffer.byteLength(text) + 1;
    const full = this.#bytes >= this.#options.maxBytes;
    const { id, epoch } = this.#ref;
    const line = { id, epoch, at: this.#options.now(), stream, step };
    this.#writer.add({ ...line, line: this.#line++, text: text.replace(UNSTORABLE, '�') });
    if (full) this.#writer.add({ ...line, line: this.#line++, stream: 'stderr', text: TRUNCATION_MARK });
  }
}
