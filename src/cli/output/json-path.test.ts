import { expect, test } from 'vitest';
import { parsePath, valuesAt } from './json-path.ts';

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
  for (const text of ['machine_id', '.a..b', '.a[', '.', '.a b'])
    expect(() => at(text), text).toThrow(/is not a path such as/);
});
