import { describe, expect, it } from 'vitest';
import { START } from './job.fixture.ts';
import { JobLog, LogWriter } from './job-log.ts';
import type { LogLine, LogTail } from './job-store.ts';

class LogStore {
  readonly batches: LogLine[][] = [];
  readonly errors: unknown[] = [];
  readonly tails: LogTail[] = [];
  whileStoring: () => void | Promise<void> = () => {};
  readonly writer = new LogWriter(
    {
      appendLog: async (lines, tails) => {
        await this.whileStoring();
        this.batches.push([...lines]);
        this.tails.push(...tails);
      },
    },
    (error) => this.errors.push(error),
  );

  get texts(): string[] {
    return this.batches.flat().map(({ text }) => text);
  }

  open(fields: { id?: string; logBytes?: number; maxBytes?: number } = {}): JobLog {
    const { id = 'job-1', logBytes = 0, maxBytes = 1_000 } = fields;
    return new JobLog(this.writer, { id, epoch: 3, logBytes }, { maxBytes, now: () => START });
  }
}

describe('the log writer', () => {
  it('stores the pending lines of all jobs together, in their order', async () => {
    const store = new LogStore();
    const [first, second] = [store.open({ id: 'job-1' }), store.open({ id: 'job-2' })];
    first.write('one', 'a', 'stdout');
    second.write('two', 'b', 'stderr');
    first.write('one', 'c', 'stdout');
    await first.flush();
    expect(store.batches).toHaveLength(1);
    expect(store.batches[0]).toEqual([
      { id: 'job-1', epoch: 3, line: 0, at: START, stream: 'stdout', step: 'one', text: 'a', tail: false },
      { id: 'job-2', epoch: 3, line: 0, at: START, stream: 'stderr', step: 'two', text: 'b', tail: false },
      { id: 'job-1', epoch: 3, line: 1, at: START, stream: 'stdout', step: 'one', text: 'c', tail: false },
    ]);
  });

  it('stores one batch at a time; what comes meanwhile is the next', async () => {
    const store = new LogStore();
    let underWay = 0;
    store.whileStoring = async () => {
      underWay += 1;
      expect(underWay).toBe(1);
      if (store.batches.length === 0) log.write('s', 'late', 'stdout');
      await new Promise((resolve) => setImmediate(resolve));
      underWay -= 1;
    };
    const log = store.open({ maxBytes: 100_000 });
    for (let line = 0; line < 1_500; line += 1) log.write('s', String(line), 'stdout');
    await log.flush();
    expect(store.batches.map((batch) => batch.length)).toEqual([1_000, 501]);
    expect(store.texts).toEqual([...Array.from({ length: 1_500 }, (_, line) => String(line)), 'late']);
  });

  it('reports lines that it could not store, and continues with the next', async () => {
    const store = new LogStore();
    const away = new Error('the database is away');
    store.whileStoring = () => {
      throw away;
    };
    const log = store.open();
    log.write('s', 'lost', 'stdout');
    await log.flush();
    store.whileStoring = () => {};
    log.write('s', 'kept', 'stdout');
    await log.flush();
    expect([store.errors, store.texts]).toEqual([[away], ['kept']]);
  });

  it('has nothing to wait for before the first line', async () => {
    const store = new LogStore();
    await store.open().flush();
    expect(store.batches).toEqual([]);
  });
});

describe('the log of one job', () => {
  async function written(texts: readonly string[], fields: { logBytes?: number; maxBytes?: number } = {}) {
    const store = new LogStore();
    const log = store.open(fields);
    for (const text of texts) log.write('s', text, 'stdout');
    await log.flush();
    return { texts: store.texts, lines: store.batches.flat(), bytes: log.bytes };
  }

  it('keeps a text of several lines as several lines', async () => {
    expect((await written(['a\nb', '', 'c'])).texts).toEqual(['a', 'b', '', 'c']);
  });

  it('replaces what the database can’t hold: NUL and half a surrogate pair', async () => {
    const { texts } = await written(['a\0b', 'c\ud83dd', 'e\ude80', 'f🚀']);
    expect(texts).toEqual(['a�b', 'c�d', 'e�', 'f🚀']);
  });

  it('keeps the first and the last part of a long line, in whole characters', async () => {
    const { texts } = await written([`first🚀${'x'.repeat(20_000)}🚀the error`], { maxBytes: 100_000 });
    const [text = ''] = texts;
    expect(text).toMatch(/^first🚀x+… 11,826 characters left out …x+🚀the error$/);
    expect(text.length).toBeLessThan(8 * 1024 + 50);
    const cut = await written([`${'x'.repeat(4 * 1024 - 1)}🚀${'y'.repeat(9_000)}`], { maxBytes: 100_000 });
    expect(cut.texts[0]).toMatch(/^x+�… /);
  });

  it('counts bytes, on from what was there before', async () => {
    expect((await written(['é'], { logBytes: 10 })).bytes).toBe(13);
  });

  it('marks lines as the last part when the first part is full, and has the older of them removed', async () => {
    const store = new LogStore();
    const log = store.open({ maxBytes: 400 });
    for (let line = 0; line < 100; line += 1) {
      log.write('s', String(line).padEnd(9), 'stdout');
      await log.flush();
    }
    const lines = store.batches.flat();
    expect(lines).toHaveLength(100);
    expect(lines.map(({ tail }) => tail)).toEqual(Array.from({ length: 100 }, (_, index) => index >= 20));
    expect(store.tails.length).toBeGreaterThanOrEqual(6);
    expect(store.tails[0]).toEqual({
      id: 'job-1',
      epoch: 3,
      keepBytes: 100,
      omitted: { lines: 0, bytes: 0, before: null },
    });
    expect(log.bytes).toBeLessThanOrEqual(400);
  });

  it('goes on with the last part where the holder before was', async () => {
    const { lines, bytes } = await written(['a'], { logBytes: 500, maxBytes: 1_000 });
    expect([lines[0]?.tail, bytes]).toEqual([true, 502]);
  });

  it('leaves out on the way what comes faster than it is stored, and keeps the last lines', async () => {
    const store = new LogStore();
    const log = store.open({ maxBytes: 400 });
    for (let line = 0; line < 10_000; line += 1) log.write('s', String(line).padEnd(9), 'stdout');
    await log.flush();
    const texts = store.texts.map((text) => text.trim());
    expect(texts.slice(0, 20)).toEqual(Array.from({ length: 20 }, (_, line) => String(line)));
    expect(texts.at(-1)).toBe('9999');
    expect(texts.length).toBeLessThan(60);
    const left = store.tails.reduce((sum, { omitted }) => sum + omitted.lines, 0);
    expect(texts.length + left).toBe(10_000);
    const lines = store.batches.flat().map(({ line }) => line);
    expect(lines).toContain(store.tails.findLast(({ omitted }) => omitted.before !== null)?.omitted.before);
  });
});
