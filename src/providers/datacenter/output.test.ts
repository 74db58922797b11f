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

it('only the beginning is kept for an answer, up to the last whole character', () => {
  const kept = new KeptOutput();
  kept.write(Buffer.from('x'.repeat(64 * 1024 - 1)));
  kept.write(Buffer.from('ü and more'));
  kept.write(Buffer.from('and more'));
  expect(kept.toString()).toBe('x'.repeat(64 * 1024 - 1));
});
