import type { JsonValue } from '@bufbuild/protobuf';
import { describe, expect, it, test } from 'vitest';
import { parsePath, valuesAt } from './json-path.ts';
import { jsonTemplate } from './json-template.ts';

const MACHINE = {
  machine_id: 'm-1',
  labels: { 'rack/unit': '14', env: 'prod' },
  status: { conditions: [{ type: 'Reachable' }, { type: 'RMA' }] },
};
const at = (path: string) => valuesAt(MACHINE, parsePath(path, '-o jsonpath'));

test('a path leads to a value, to every value, or nowhere', () => {
  expect(at('.machine_id')).toEqual(['m-1']);
  expect(at('$.status.conditions[-1].type')).toEqual(['RMA']);
  expect(at('.status.conditions[*].type')).toEqual(['Reachable', 'RMA']);
  expect(at(".labels['rack/unit']")).toEqual(['14']);
  expect(at('.labels[*]')).toEqual(['14', 'prod']);
  expect(at('.status.none.at.all')).toEqual([]);
  expect(at('.constructor')).toEqual([]);
  expect(at('')).toEqual([MACHINE]);
});

test('what is no path is refused, with the place', () => {
  for (const text of ['machine_id', '.a...b', '.a[', '.', '.a b'])
    expect(() => at(text), text).toThrow(/is not a path such as/);
});

test('a template whose brace is open is refused', () => {
  for (const text of ['{.a', '{.machine_id} {', '{"a}'])
    expect(() => jsonTemplate(text), text).toThrow(/has a \{ without its \}/);
});

describe('a path with a test', () => {
  const machine = {
    conditions: [
      { type: 'Reachable', status: true, since: 5 },
      { type: 'Degraded', status: false, since: 10 },
    ],
    spec: { location: { rack: 'r1' } },
  };
  const at = (path: string) => valuesAt(machine, parsePath(path, '-o jsonpath'));

  it.each([
    ['.conditions[?(@.type=="Reachable")].status', [true]],
    [".conditions[?(@.type!='Reachable')].type", ['Degraded']],
    ['.conditions[?(@.since > 7)].type', ['Degraded']],
    ['.conditions[?(@.status==true)].type', ['Reachable']],
    ['.conditions[?(@.none)].type', []],
    ['.conditions[?(@.since)].since', [5, 10]],
    ['..rack', ['r1']],
    ['$.conditions[-1].type', ['Degraded']],
  ])('%s', (path, values) => {
    expect(at(path)).toEqual(values);
  });
});

describe('a template', () => {
  const write = (template: string, value: JsonValue) => jsonTemplate(template).write(value);
  const list = {
    items: [
      { id: 'a', n: 1 },
      { id: 'b', n: 2 },
    ],
  };

  it('has texts between its paths', () => {
    expect(write('{.id}{"\\t"}{.n}', { id: 'a', n: 1 })).toBe('a\t1');
    expect(write('.id', { id: 'a' })).toBe('a');
    expect(jsonTemplate('{.id}').isForWholeList).toBe(false);
  });

  it('goes over a list as that of kubectl does', () => {
    expect(write('{.items[*].id}', list)).toBe('a b');
    expect(write('{range .items[*]}{.id}={.n}{"\\n"}{end}', list)).toBe('a=1\nb=2\n');
    expect(write("{range .items[?(@.n>1)]}{.id}{','}{end}", list)).toBe('b,');
    expect(jsonTemplate('{.items[*].id}').isForWholeList).toBe(true);
    expect(jsonTemplate('{range .items[*]}{.id}{end}').isForWholeList).toBe(true);
  });

  it.each(['{range .items[*]}{.id}', '{.id}{end}', '{"\\x"}', '{.items[}'])('%s is refused', (template) => {
    expect(() => jsonTemplate(template)).toThrow(/-o jsonpath/);
  });
});
