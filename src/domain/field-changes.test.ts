import { expect, test } from 'vitest';
import { changesBetween } from './field-changes.ts';

test('names the fields that differ, with their values before and after', () => {
  const before = { labels: { rack: 'r1', zone: 'a' }, spec: { macs: ['1'], note: 'x' }, same: 1 };
  const after = { labels: { rack: 'r2' }, spec: { macs: ['1', '2'], note: 'x' }, same: 1, added: true };
  expect(changesBetween(before, after)).toEqual([
    { field: 'labels.rack', before: 'r1', after: 'r2' },
    { field: 'labels.zone', before: 'a', after: '' },
    { field: 'spec.macs', before: '["1"]', after: '["1","2"]' },
    { field: 'added', before: '', after: 'true' },
  ]);
});

test('the order of keys in a list of records is no change', () => {
  expect(
    changesBetween({ steps: [{ a: 1, b: { c: 2, d: 3 } }] }, { steps: [{ b: { d: 3, c: 2 }, a: 1 }] }),
  ).toEqual([]);
});

test('a record that is new or gone has all of its fields', () => {
  expect(changesBetween(null, { role: 'admin' })).toEqual([{ field: 'role', before: '', after: 'admin' }]);
  expect(changesBetween({ role: 'admin' }, null)).toEqual([{ field: 'role', before: 'admin', after: '' }]);
});

test.each(['userData', 'user_data', 'networkConfig', 'password', 'bmc.token', 'client_secret', 'privateKey'])(
  'never shows the value of %s',
  (field) => {
    const changes = changesBetween({ [field]: 'hunter2' }, { [field]: 'hunter3' });
    expect(changes).toEqual([{ field, before: '(not shown)', after: '(not shown)' }]);
    expect(changesBetween({}, { [field]: 'hunter3' })).toEqual([{ field, before: '', after: '(not shown)' }]);
  },
);

test('a name such as __proto__ is a field like any other', () => {
  const after = JSON.parse('{"__proto__":"x","constructor":"y"}') as object;
  expect(changesBetween({}, after)).toEqual([
    { field: '__proto__', before: '', after: 'x' },
    { field: 'constructor', before: '', after: 'y' },
  ]);
});

test('is bounded, in the number of fields and in the length of values', () => {
  const many = Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`f${n}`, 'x'.repeat(1000)]));
  const changes = changesBetween({}, many);
  expect(changes).toHaveLength(101);
  expect(changes.at(-1)?.after).toBe('50 more fields changed');
  expect(changes[0]?.after).toHaveLength(301);
});
