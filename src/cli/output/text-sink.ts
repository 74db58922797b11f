import type { Writable } from 'node:stream';
import { type Colour, paint } from './colour.ts';

export type OutputStream = Writable & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
};

/** stdout or stderr, with what it supports: colours, a live line, its width. */
export class TextSink {
  /** A terminal that supports control codes. */
  readonly isTerminal: boolean;
  readonly #stream: OutputStream;
  readonly #hasColour: boolean;

  constructor(stream: OutputStream, env: Readonly<Record<string, string | undefined>>) {
    this.#stream = stream;
    this.isTerminal = stream.isTTY === true && env.TERM !== 'dumb';
    this.#hasColour = this.isTerminal && (env.NO_COLOR ?? '') === '';
  }

  get rows(): number {
    return this.#stream.rows ?? 24;
  }

  get columns(): number {
    return this.#stream.columns ?? 80;
  }

  write(text: string): void {
    this.#stream.write(text);
  }

  /** As they are. */
  bytes(data: Uint8Array): void {
    this.#stream.write(data);
  }

  line(text: string): void {
    this.write(`${text}\n`);
  }

  colour(text: string, colour: Colour | undefined): string {
    return this.#hasColour && colour !== undefined ? paint(text, colour) : text;
  }

  /** Resolves when a slow reader has caught up, so that a long list does not accumulate in memory. */
  async drained(): Promise<void> {
    const stream = this.#stream;
    if (!stream.writableNeedDrain || stream.destroyed) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        for (const event of ['drain', 'close', 'error']) stream.off(event, done);
        resolve();
      };
      for (const event of ['drain', 'close', 'error']) stream.on(event, done);
    });
  }
}
