/** PostgreSQL reads back what was written. */
import { Client } from 'pg';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { numberArray, textArray } from './array-literal.ts';

let client: Client;

beforeAll(async () => {
  client = new Client({ connectionString: inject('postgresUrl') });
  await client.connect();
});
afterAll(() => client?.end());

it.each([
  [[]],
  [['']],
  [['plain', 'NULL', 'null', null]],
  [['a,b', '{}', '{"a"}', ' around ', "it's"]],
  [['"', '\\', '\\"', '\\\\', '"quoted"', 'line\nbreak', 'é 漢 🦀']],
])('text: %j', async (values) => {
  const { rows } = await client.query('SELECT $1::text[] AS values', [textArray(values)]);
  expect(rows[0]?.values).toEqual(values);
});

it.each([[[]], [[0, 15.5, null, -1.25]], [[1e21, 5e-324, Number.MAX_SAFE_INTEGER, 0.1 + 0.2]]])(
  'numbers: %j',
  async (values) => {
    const { rows } = await client.query('SELECT $1::float8[] AS values', [numberArray(values)]);
    expect(rows[0]?.values).toEqual(values);
  },
);
