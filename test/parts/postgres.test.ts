import { Client } from 'pg';
import { expect, test } from 'vitest';
import { cloneDatabase } from './postgres.ts';

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query({ text: sql, rowMode: 'array' })).rows.flat();
  } finally {
    await client.end();
  }
}

test('clones made at the same time are migrated and know nothing of one another', async () => {
  const clones = await Promise.all(Array.from({ length: 4 }, () => cloneDatabase()));
  const migrated = `SELECT count(*)::int > 0 FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`;
  for (const { url } of clones) expect(await query(url, migrated)).toEqual([true]);
  for (const [index, { url }] of clones.entries())
    await query(url, `CREATE TABLE note AS SELECT ${index} AS n`);
  for (const [index, { url }] of clones.entries())
    expect(await query(url, 'SELECT n FROM note')).toEqual([index]);
  for (const clone of clones) await clone.drop();
});

test('a dropped clone is gone, whoever was still connected to it', async () => {
  const clone = await cloneDatabase();
  const client = new Client({ connectionString: clone.url });
  client.on('error', () => {});
  await client.connect();
  await clone.drop();
  await expect(query(clone.url, 'SELECT 1')).rejects.toThrow('does not exist');
  await client.end().catch(() => {});
});
