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

function written(
  columns: number,
  fit: 'terminal' | 'wrapped' | 'whole' = 'terminal',
  isTTY = true,
): string[] {
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

interface Operation {
  readonly id: string;
  readonly phase: string;
  readonly subject: string;
}

const OPERATIONS: readonly Column<Operation>[] = [
  { header: 'ID', cell: ({ id }) => id },
  { header: 'TYPE', cell: () => 'ENTER_MAINTENANCE' },
  { header: 'PHASE', cell: ({ phase }) => phase, stays: 'longest' },
  { header: 'STEP', cell: () => '', stays: 'longest' },
  { header: 'AGE', cell: () => '5m' },
  { header: 'SUBJECT', cell: ({ subject }) => subject },
];

function listed(columns: number, items: readonly Operation[]): string[] {
  const stream = Object.assign(new PassThrough(), { isTTY: true, columns });
  new Table(new TextSink(stream, { NO_COLOR: '1' }), OPERATIONS).write(items);
  return String(stream.read()).trimEnd().split('\n');
}

const OPERATION = { id: 'op-1', phase: 'SUCCEEDED', subject: 'baremetal.v2.OperationService/GetOperation' };

test('an empty column goes before all others, and one that fits after all comes back', () => {
  expect(listed(40, [OPERATION])).toEqual([
    'ID    TYPE               PHASE      AGE',
    'op-1  ENTER_MAINTENANCE  SUCCEEDED  5m',
  ]);
  expect(listed(22, [OPERATION])).toEqual(['ID    PHASE      AGE', 'op-1  SUCCEEDED  5m']);
});

test('the last column goes where one of its words would be broken', () => {
  for (const columns of [40, 50, 60, 70, 80, 90]) {
    const lines = listed(columns, [OPERATION, { ...OPERATION, subject: 'a few short words of a message' }]);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
  }
});

test('one long id does not take the room of the other columns', () => {
  const long = `db-${'x'.repeat(50)}`;
  expect(listed(42, [OPERATION, { ...OPERATION, id: long }, { ...OPERATION, id: 'op-22' }])).toEqual([
    'ID     TYPE               PHASE      AGE',
    'op-1   ENTER_MAINTENANCE  SUCCEEDED  5m',
    long,
    '       ENTER_MAINTENANCE  SUCCEEDED  5m',
    'op-22  ENTER_MAINTENANCE  SUCCEEDED  5m',
  ]);
});

test('wide characters count with the columns that they take', () => {
  const wide = { ...OPERATION, id: '東京-01', phase: '失敗' };
  const [header = '', row = ''] = listed(44, [wide]);
  expect(header.indexOf('TYPE')).toBe(9);
  expect(row).toBe('東京-01  ENTER_MAINTENANCE  失敗   -     5m');
});

test('what shows one item wraps its last column between words', () => {
  expect(written(67, 'wrapped')).toEqual([
    'ID         PHASE        NOTE               MESSAGE',
    'machine-1  MAINTENANCE  agent lost 10 min  the host does not answer',
    '                                           at all since noon',
  ]);
});
