import { Code, ConnectError } from '@connectrpc/connect';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { LogBuffer } from '../../console/src/pages/operation/log-buffer.ts';
import { firstNotBelow, hitBeside, LogSearch } from '../../console/src/pages/operation/log-search.ts';
import { LogTail, type TailChunk, type TailOptions } from '../../console/src/pages/operation/log-tail.ts';
import { linesOf, plainLine, stampText } from '../../console/src/pages/operation/log-text.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

function filled(texts: readonly string[], limits?: { lines: number; characters: number }): LogBuffer {
  const buffer = new LogBuffer(limits);
  for (const text of texts) buffer.append({ at: 0, stream: 'stdout', step: 'repave', text });
  return buffer;
}

function textsOf(buffer: LogBuffer): string[] {
  return Array.from({ length: buffer.size }, (_, index) => buffer.at(index)?.text ?? '');
}

describe('log text', () => {
  it('is cut at every kind of line break, and the last one begins no line', () => {
    expect(linesOf(bytes('one\ntwo\r\n10%\r20%\n\nlast\n'))).toEqual([
      'one',
      'two',
      '10%',
      '20%',
      '',
      'last',
    ]);
    expect(linesOf(bytes('no break'))).toEqual(['no break']);
    expect(linesOf(bytes(''))).toEqual([]);
  });

  it('loses colours, titles and links, and keeps the words', () => {
    expect(plainLine('\u001b[1;31merror\u001b[0m: disk')).toBe('error: disk');
    expect(plainLine('\u001b]0;owned\u0007title')).toBe('title');
    expect(plainLine('\u001b]8;;http://a\u001b\\link\u001b]8;;\u001b\\')).toBe('link');
    expect(plainLine('\u001b(Bplain\u001b[K')).toBe('plain');
  });

  it('spells out what else commands a terminal or turns the direction', () => {
    expect(plainLine('a\u0007b\u202ec\u0000')).toBe('a\\x07b\\u202ec\\x00');
    expect(plainLine('tab\tstays, <b>so does</b> é ✓ 日本')).toBe('tab\tstays, <b>so does</b> é ✓ 日本');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(plainLine(text).replaceAll('\t', '')).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
      }),
    );
  });

  it('has the time of day in UTC to the millisecond', () => {
    expect(stampText(Date.UTC(2026, 0, 2, 3, 4, 5, 6), 'utc')).toBe('03:04:05.006');
    expect(stampText(Date.UTC(2026, 0, 2, 3, 4, 5, 6), 'local')).toMatch(/^\d\d:\d\d:05\.006$/);
  });
});

describe('the log buffer', () => {
  it('never holds more lines than its limit; the newest stay, with their numbers', () => {
    const texts = Array.from({ length: 1_234 }, (_, number) => `line ${number}`);
    const buffer = filled(texts, { lines: 100, characters: 1_000_000 });
    expect(buffer.size).toBeLessThanOrEqual(100);
    expect(buffer.size).toBeGreaterThanOrEqual(90);
    expect(buffer.dropped + buffer.size).toBe(1_234);
    expect(buffer.at(0)).toMatchObject({ number: buffer.dropped, text: `line ${buffer.dropped}` });
    expect(buffer.at(buffer.size - 1)).toMatchObject({ number: 1_233, text: 'line 1233' });
  });

  it('never holds more characters than its limit, but always the newest line', () => {
    const buffer = filled(['a'.repeat(60), 'b'.repeat(60), 'c'.repeat(500)], { lines: 10, characters: 100 });
    expect(textsOf(buffer)).toEqual(['c'.repeat(500)]);
    expect(buffer.longest).toBe(500);
    buffer.append({ at: 0, stream: 'stdout', step: '', text: 'd' });
    expect(textsOf(buffer)).toEqual(['d']);
    expect(buffer.dropped).toBe(3);
  });

  it('is written to a file as a whole, and says what is missing', () => {
    expect(filled(['one', 'two']).text(({ text }) => text)).toBe('one\ntwo\n');
    const cut = filled(['one', 'two', 'three'], { lines: 2, characters: 100 });
    expect(cut.text(({ number, text }) => `${number} ${text}`)).toBe(
      '(the first 2 lines are not here)\n2 three\n',
    );
  });
});

describe('searching a log', () => {
  it('finds lines in any case and takes nothing in the query as special', () => {
    const buffer = filled(['Disk a.b failed', 'disk axb', 'DISK A.B']);
    expect(new LogSearch('disk a.b').hits(buffer)).toEqual([0, 2]);
    expect(new LogSearch('(').hits(buffer)).toEqual([]);
    expect(new LogSearch('').hits(buffer)).toEqual([]);
  });

  it('goes on with what came since, and forgets what is gone', () => {
    const buffer = filled(['hit', 'miss', 'hit'], { lines: 4, characters: 1_000 });
    const search = new LogSearch('hit');
    expect(search.hits(buffer)).toEqual([0, 2]);
    for (const text of ['miss', 'hit']) buffer.append({ at: 0, stream: 'stdout', step: '', text });
    expect(buffer.dropped).toBe(2);
    expect(search.hits(buffer)).toEqual([2, 4]);
    expect(search.hits(buffer)).toEqual([2, 4]);
  });

  it('cuts a text so that its parts are the text again, also after it has looked at the log', () => {
    const search = new LogSearch('ab');
    expect(search.hits(filled(['long before the ab']))).toEqual([0]);
    expect(search.parts('xABab!')).toEqual([
      { text: 'x', isMatch: false },
      { text: 'AB', isMatch: true },
      { text: 'ab', isMatch: true },
      { text: '!', isMatch: false },
    ]);
    fc.assert(
      fc.property(fc.string(), fc.string(), (text, query) => {
        const parts = new LogSearch(query).parts(text);
        expect(parts.map((part) => part.text).join('')).toBe(text);
      }),
    );
  });

  it('goes from hit to hit, around the ends', () => {
    const hits = [3, 8, 20];
    expect([firstNotBelow(hits, 0), firstNotBelow(hits, 8), firstNotBelow(hits, 21)]).toEqual([0, 1, 3]);
    expect([hitBeside(hits, 3, 'next'), hitBeside(hits, 20, 'next')]).toEqual([8, 3]);
    expect([hitBeside(hits, 8, 'previous'), hitBeside(hits, 3, 'previous')]).toEqual([3, 20]);
    expect([hitBeside(hits, 10, 'next'), hitBeside([], 1, 'next')]).toEqual([20, null]);
  });
});

describe('following a log', () => {
  const waits = { firstMs: 2, longestMs: 4, settledMs: 50 };

  /** A log on a server: each line is a chunk whose cursor is its number. */
  function served(lines: readonly string[], breaksAfter: readonly number[]) {
    const opened: string[] = [];
    const cuts = [...breaksAfter];
    const open: TailOptions['open'] = async function* (cursor) {
      opened.push(cursor);
      const cut = cuts.shift() ?? Number.POSITIVE_INFINITY;
      const from = cursor === '' ? 0 : Number(cursor) + 1;
      for (let number = from; number < lines.length; number += 1) {
        if (number - from >= cut) throw new ConnectError('gone', Code.Unavailable);
        yield {
          at: 0,
          stream: 'stdout',
          step: 's',
          data: bytes(`${lines[number]}\n`),
          cursor: String(number),
        } satisfies TailChunk;
      }
      if (cuts.length > 0) throw new ConnectError('gone', Code.Unavailable);
    };
    return { open, opened };
  }

  it('loses and repeats no line, wherever and however often the stream breaks', async () => {
    const lines = Array.from({ length: 30 }, (_, number) => `line ${number}`);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 6 }), { maxLength: 6 }), async (breaks) => {
        const { open, opened } = served(lines, breaks);
        const buffer = new LogBuffer();
        const tail = new LogTail({ buffer, open, isActive: () => false, onChange: () => {}, waits });
        tail.start();
        await vi.waitFor(() => expect(tail.state).toBe('ended'), { interval: 2, timeout: 5_000 });
        tail.stop();
        expect(textsOf(buffer)).toEqual(lines);
        expect(opened.length).toBeGreaterThanOrEqual(Math.min(1, breaks.length));
      }),
      { numRuns: 20 },
    );
  });

  it('goes on when the operation does, and lets go while it is paused', async () => {
    const lines = ['one'];
    const { open, opened } = served(lines, []);
    const buffer = new LogBuffer();
    const tail = new LogTail({ buffer, open, isActive: () => false, onChange: () => {}, waits });
    tail.start();
    await vi.waitFor(() => expect(tail.state).toBe('ended'));
    lines.push('two');
    tail.pause();
    await vi.waitFor(() => expect(tail.state).toBe('paused'));
    expect(textsOf(buffer)).toEqual(['one']);
    tail.resume();
    await vi.waitFor(() => expect(textsOf(buffer)).toEqual(['one', 'two']));
    expect(opened).toEqual(['', '0']);
    tail.stop();
  });

  it('asks again by itself while the operation is under way, though the stream has ended', async () => {
    const lines = ['one'];
    let isActive = true;
    const { open } = served(lines, []);
    const buffer = new LogBuffer();
    const tail = new LogTail({ buffer, open, isActive: () => isActive, onChange: () => {}, waits });
    tail.start();
    await vi.waitFor(() => expect(buffer.size).toBe(1));
    lines.push('two');
    await vi.waitFor(() => expect(buffer.size).toBe(2));
    isActive = false;
    await vi.waitFor(() => expect(tail.state).toBe('ended'));
    tail.stop();
  });

  it('gives up on what can’t be answered, and tries once more when it is told to', async () => {
    let asked = 0;
    const open: TailOptions['open'] = async function* () {
      asked += 1;
      if (asked === 1) throw new ConnectError('there is no operation', Code.NotFound);
      yield { at: 0, stream: 'stdout', step: '', data: bytes('x\n'), cursor: '0' } satisfies TailChunk;
    };
    const buffer = new LogBuffer();
    const tail = new LogTail({ buffer, open, isActive: () => false, onChange: () => {}, waits });
    tail.start();
    await vi.waitFor(() => expect(tail.state).toBe('failed'));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(asked).toBe(1);
    expect(tail.error).toMatchObject({ code: Code.NotFound });
    tail.resume();
    await vi.waitFor(() => expect(textsOf(buffer)).toEqual(['x']));
    tail.stop();
  });
});
