import { describe, expect, it } from 'vitest';
import { type ReadUpTo, withGaps } from './log-gaps.ts';
import type { KeptLine } from './read-log.ts';

const AT = new Date('2026-01-01T00:00:00Z');
const OMITTED = { omittedLines: 12_345, omittedBytes: 1_234_567 };

function kept(epoch: number, line: number, fields: Partial<KeptLine> = {}): KeptLine {
  const text = `${epoch}.${line}`;
  return { epoch, line, at: AT, stream: 'stdout', step: 's', text, tail: true, ...OMITTED, ...fields };
}

const start: ReadUpTo = { epoch: -1, line: -1, part: 'start' };
const texts = (before: ReadUpTo, lines: readonly KeptLine[]) =>
  withGaps(before, lines).map(({ text }) => text);
const MARK = '… 12,345 lines (1.2 MB) left out …';

describe('a log of which the middle is missing', () => {
  it('has a line between its two parts with how much is missing', () => {
    const lines = [kept(1, 0, { tail: false }), kept(1, 1, { tail: false }), kept(1, 900), kept(2, 0)];
    expect(texts(start, lines)).toEqual(['1.0', '1.1', MARK, '1.900', '2.0']);
    expect(withGaps(start, lines)[2]).toMatchObject({
      epoch: 1,
      line: 899,
      stream: 'stderr',
      step: 's',
      at: AT,
    });
  });

  it('has it also where the two parts are read in two batches', () => {
    expect(texts({ epoch: 1, line: 1, part: 'head' }, [kept(3, 0)])).toEqual([MARK, '3.0']);
  });

  it('does not have it for a reader who was past it', () => {
    expect(texts({ epoch: 1, line: 900, part: 'tail' }, [kept(1, 901)])).toEqual(['1.901']);
  });

  it('does not have it again for a reader who resumes at it', () => {
    for (const next of [kept(1, 900), kept(3, 0)]) {
      const [mark] = withGaps({ epoch: 1, line: 1, part: 'head' }, [next]);
      if (!mark) throw new Error('there is no mark');
      expect(texts({ epoch: mark.epoch, line: mark.line, part: 'gone' }, [next])).toEqual([next.text]);
    }
  });

  it('shows a slow reader how many lines were removed before they were read', () => {
    expect(texts({ epoch: 1, line: 900, part: 'tail' }, [kept(1, 1_000)])).toEqual([
      '… 99 lines left out …',
      '1.1000',
    ]);
    expect(texts({ epoch: 1, line: 900, part: 'gone' }, [kept(2, 1)])).toEqual([
      '… 1 line left out …',
      '2.1',
    ]);
  });

  it('has no line where nothing is missing', () => {
    const whole = { omittedLines: 0, omittedBytes: 0 };
    const lines = [kept(1, 0, { ...whole, tail: false }), kept(1, 1, whole)];
    expect(texts(start, lines)).toEqual(['1.0', '1.1']);
  });
});
