import { describe, expect, it } from 'vitest';
import { KeptOutput, LineSplitter } from './output.ts';

function linesOf(...chunks: (string | Buffer)[]): string[] {
  const lines: string[] = [];
  const splitter = new LineSplitter((line) => lines.push(line));
  for (const chunk of chunks) splitter.write(Buffer.from(chunk));
  splitter.end();
  return lines;
}

describe('output becomes lines', () => {
  it.each([
    ['that come in pieces', ['on', 'e\ntw', 'o\n'], ['one', 'two']],
    ['of which the last has no end', ['one\ntwo'], ['one', 'two']],
    ['that may be empty', ['one\n\ntwo\n'], ['one', '', 'two']],
    ['as Windows ends them', ['one\r\n', 'two\r', '\n'], ['one', 'two']],
    ['of which there may be none', [], []],
  ])('%s', (_how, chunks, lines) => {
    expect(linesOf(...chunks)).toEqual(lines);
  });

  it('with characters whole, wherever the bytes were cut', () => {
    const bytes = Buffer.from('Zürich 機械\n');
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect(linesOf(bytes.subarray(0, cut), bytes.subarray(cut))).toEqual(['Zürich 機械']);
    }
  });

  it('no longer than 4096, with nothing lost', () => {
    const long = 'x'.repeat(10_000);
    const lines = linesOf(`${long}\nnext\n`);
    expect(lines.map(({ length }) => length)).toEqual([4096, 4096, 1808, 4]);
    expect(linesOf(long.slice(0, 5_000), long.slice(5_000)).join('')).toBe(long);
  });

  it('without a pair of surrogates cut in half', () => {
    const lines = linesOf(`${'x'.repeat(4095)}😀`);
    expect(lines).toEqual(['x'.repeat(4095), '😀']);
  });
});

describe('what is kept for an answer', () => {
  it('is all of it, as long as it is short', () => {
    const kept = new KeptOutput();
    kept.write(Buffer.from('x'.repeat(40_000)));
    kept.write(Buffer.from('ü'));
    expect(kept.toString()).toBe(`${'x'.repeat(40_000)}ü`);
  });

  it('is the first and the last part, in whole characters, with what is missing in between', () => {
    const kept = new KeptOutput();
    kept.write(Buffer.from(`first${'x'.repeat(32 * 1024 - 6)}ü`));
    for (let chunk = 0; chunk < 100; chunk += 1) kept.write(Buffer.from('ü'.repeat(10_000)));
    kept.write(Buffer.from('the error'));
    const text = kept.toString();
    expect(text.startsWith('firstx')).toBe(true);
    expect(text.endsWith('üthe error')).toBe(true);
    expect(text).not.toContain('\ufffd');
    const [, count] = /\n… ([\d,]+) bytes left out …\n/.exec(text) ?? [];
    expect(Number(count?.replaceAll(',', ''))).toBeGreaterThan(1_900_000);
    expect(text.length).toBeLessThan(70_000);
    expect(kept.toString()).toBe(text);
  });
});
