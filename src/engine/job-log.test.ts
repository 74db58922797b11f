import { describe, expect, it } from 'vitest';
import { START } from './job.fixture.ts';
import { JobLog, LogWriter, TRUNCATION_MARK } from './job-log.ts';
import type { LogLine } from './job-store.ts';

class LogStore {
  readonly batches: LogLine[][] = [];
  readonly errors: unknown[] = [];
  whileStoring: () => void | Promise<void> = () => {};
  readonly writer = new LogWriter(
    {
      appendLog: async (lines) => {
        await this.whileStoring();
        this.batches.push([...lines]);
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
  it('stores the lines of all jobs of one moment together, in their order', async () => {
    const store = new LogStore();
    const [first, second] = [store.open({ id: 'job-1' }), store.open({ id: 'job-2' })];
    first.write('one', 'a', 'stdout');
    second.write('two', 'b', 'stderr');
    first.write('one', 'c', 'stdout');
    await first.flush();
    expect(store.batches).toHaveLength(1);
    expect(store.batches[0]).toEqual([
      { id: 'job-1', epoch: 3, line: 0, at: START, stream: 'stdout', step: 'one', text: 'a' },
      { id: 'job-2', epoch: 3, line: 0, at: START, stream: 'stderr', step: 'two', text: 'b' },
      { id: 'job-1', epoch: 3, line: 1, at: START, stream: 'stdout', step: 'one', text: 'c' },
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

  it('tells of lines that it could not store, and goes on with the next', async () => {
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

  it('cuts a long line, and not into half a character that would refuse its whole batch', async () => {
    const { texts } = await written([`${'x'.repeat(8 * 1024 - 1)}🚀🚀`], { maxBytes: 100_000 });
    expect(texts).toEqual([`${'x'.repeat(8 * 1024 - 1)}�`]);
  });

  it('counts bytes, on from what was there before', async () => {
    expect((await written(['é'], { logBytes: 10 })).bytes).toBe(13);
  });

  it('says once where it became full, and keeps nothing after that', async () => {
    const { texts, lines } = await written(['12345678', 'abc', 'd', 'e'], { maxBytes: 12 });
    expect(texts).toEqual(['12345678', 'abc', TRUNCATION_MARK]);
    expect(lines.at(-1)).toMatchObject({ line: 2, stream: 'stderr', step: 's' });
  });

  it('says it no more when it was full before', async () => {
    expect((await written(['a'], { logBytes: 12, maxBytes: 12 })).texts).toEqual([]);
  });
});
