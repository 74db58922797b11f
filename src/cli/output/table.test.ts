import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { type Column, Table } from './table.ts';
import { TextSink } from './text-sink.ts';

interface Row {
  readonly id: string;
  readonly note: string;
  readonly message: string;
}

const COLUMNS: readonly Column<Row>[] = [
  { header: 'ID', cell: ({ id }) => id },
  { header: 'PHASE', cell: () => 'MAINTENANCE' },
  { header: 'NOTE', cell: ({ note }) => note, stays: 'longest' },
  { header: 'MESSAGE', cell: ({ message }) => message },
];
const ROW = {
  id: 'machine-1',
  note: 'agent lost 10 min',
  message: 'the host does not answer at all since noon',
};

function written(columns: number, fit: 'terminal' | 'whole' = 'terminal', isTTY = true): string[] {
  const stream = Object.assign(new PassThrough(), { isTTY, columns });
  new Table(new TextSink(stream, { NO_COLOR: '1' }), COLUMNS, fit).write([ROW]);
  return String(stream.read()).trimEnd().split('\n');
}

test('a table that fits has every column, whole', () => {
  expect(written(120)).toEqual([
    'ID         PHASE        NOTE               MESSAGE',
    'machine-1  MAINTENANCE  agent lost 10 min  the host does not answer at all since noon',
  ]);
});

test('on a narrower terminal the last column ends at a word, then columns go, and no line is wider', () => {
  expect(written(75)[1]).toBe('machine-1  MAINTENANCE  agent lost 10 min  the host does not answer at …');
  expect(written(60)).toEqual(['ID         PHASE        NOTE', 'machine-1  MAINTENANCE  agent lost 10 min']);
  expect(written(32)).toEqual(['ID         NOTE', 'machine-1  agent lost 10 min']);
  for (const columns of [32, 40, 60, 75, 80, 120])
    expect(Math.max(...written(columns).map((line) => line.length))).toBeLessThanOrEqual(columns);
});

test('what is not written to a terminal, and -o wide, have every column', () => {
  expect(written(32, 'terminal', false)).toEqual(written(120));
  expect(written(32, 'whole')).toEqual(written(120));
});
