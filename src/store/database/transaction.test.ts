import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cloneDatabase } from '../../../test/parts/postgres.ts';
import { Database, type Session } from './database.ts';
import { OpenTransaction, type Statement } from './transaction.ts';

let url: string;
let database: Database;

beforeAll(async () => {
  ({ url } = await cloneDatabase());
  database = new Database({ url, maxConnections: 1, onIdleError: () => {} });
  await database.run('', 'CREATE TABLE notes (id integer PRIMARY KEY)');
});

afterAll(() => database.close());

const INSERT = 'INSERT INTO notes (id) VALUES ($1)';

async function stored(): Promise<number[]> {
  const rows = await database.run<{ id: number }>('', 'SELECT id FROM notes ORDER BY id');
  return rows.map(({ id }) => id);
}

async function emptied(): Promise<void> {
  await database.run('', 'DELETE FROM notes');
}

const insert = (id: number): Statement => ({ name: 'insert', text: INSERT, values: [id] });

test('statements are sent together with their COMMIT, and all of them count', async () => {
  await emptied();
  const rows = await database.transaction((session) =>
    session.finish([insert(1), insert(2), { name: '', text: 'SELECT 3 AS three', values: [] }]),
  );
  expect(rows).toEqual([[], [], [{ three: 3 }]]);
  expect(await stored()).toEqual([1, 2]);
});

test('a COMMIT behind a statement that fails commits nothing, and the connection goes on', async () => {
  await emptied();
  const work = database.transaction(async (session) => {
    await session.run('insert', INSERT, [1]);
    await session.finish([insert(2), insert(2)]);
  });
  await expect(work).rejects.toThrow('duplicate key');
  expect(await stored()).toEqual([]);
});

/** Answers that come while the event loop is busy are read in one turn, and the caller behind fewer functions gets its answer first. */
test('the cause is thrown, also where the answer to COMMIT is read in the same turn', async () => {
  await emptied();
  const deep = async (session: Session, levels: number): Promise<unknown> =>
    levels === 0 ? await session.run('insert', INSERT, [1]) : await deep(session, levels - 1);
  for (let round = 0; round < 5; round += 1) {
    const work = database.transaction(async (session) => {
      await session.run('insert', INSERT, [1]);
      const last = Promise.all([deep(session, 5), session.finish([])]);
      setImmediate(() => block(30));
      await last;
    });
    await expect(work).rejects.toThrow('duplicate key');
  }
  expect(await stored()).toEqual([]);
});

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test('a failure that the work ignores is not taken for a commit, and is what the caller gets', async () => {
  await emptied();
  const work = database.transaction(async (session) => {
    await session.run('insert', INSERT, [1]);
    await session.run('', 'SELECT 1 / 0').catch(() => {});
  });
  await expect(work).rejects.toThrow('division by zero');
  expect(await stored()).toEqual([]);
});

test('no statement follows a COMMIT', async () => {
  const work = database.transaction(async (session) => {
    await session.run('', 'SELECT 1');
    await session.finish([]);
    await session.run('', 'SELECT 1');
  });
  await expect(work).rejects.toThrow('after the COMMIT');
});

test('a transaction without a statement sends nothing', async () => {
  expect(await database.transaction(async () => 'nothing')).toBe('nothing');
});

test('the first statement is in the transaction: an error after it takes it back', async () => {
  await emptied();
  const work = database.transaction(async (session) => {
    await session.run('insert', INSERT, [1]);
    throw new Error('thought better of it');
  });
  await expect(work).rejects.toThrow('thought better of it');
  expect(await stored()).toEqual([]);
});

test('where BEGIN fails, the statement that travels with it is not carried out', async () => {
  await emptied();
  const client = new pg.Client({ connectionString: url, pipeline: true } as pg.ClientConfig);
  await client.connect();
  try {
    const transaction = new OpenTransaction(client, 'SELECT 1 / 0');
    await expect(transaction.run('insert', INSERT, [1])).rejects.toThrow('division by zero');
    expect(await stored()).toEqual([]);
  } finally {
    await client.end();
  }
});

test('a statement that could not be prepared as the first of a transaction can be repaired', async () => {
  const select = () =>
    database.transaction((session) => session.run<{ id: number }>('late', 'SELECT id FROM late_notes'));
  await expect(select()).rejects.toThrow('late_notes');
  await database.run('', 'CREATE TABLE late_notes (id integer)');
  expect(await select()).toEqual([]);
  expect(await select()).toEqual([]);
});

test('a statement that was prepared as the first of a transaction is known afterwards', async () => {
  await emptied();
  for (const id of [1, 2]) await database.transaction((session) => session.run('again', INSERT, [id]));
  await database.run('again', INSERT, [3]);
  expect(await stored()).toEqual([1, 2, 3]);
});
