import { expect, it } from 'vitest';
import { SharedReads } from './operation-changes.ts';

function reads() {
  const started: Array<{ resolve: (value: number) => void; reject: (error: Error) => void }> = [];
  const shared = new SharedReads<number>();
  const read = (key = 'all') =>
    shared.read(key, () => new Promise<number>((resolve, reject) => started.push({ resolve, reject })));
  return { started, read };
}

it('gives those who come while a read is under way the next one, which all of them share', async () => {
  const { started, read } = reads();
  const first = read();
  const [second, third] = [read(), read()];
  expect(started).toHaveLength(1);
  started[0]?.resolve(1);
  expect(await first).toBe(1);
  started[1]?.resolve(2);
  expect(await Promise.all([second, third])).toEqual([2, 2]);
  expect(started).toHaveLength(2);
  // Nothing is kept: the next one reads again.
  const fourth = read();
  started[2]?.resolve(3);
  expect(await fourth).toBe(3);
});

it('lets the next read start after one that failed, and keeps other keys apart', async () => {
  const { started, read } = reads();
  const failed = read();
  const next = read();
  const other = read('other');
  expect(started).toHaveLength(2);
  started[0]?.reject(new Error('away'));
  await expect(failed).rejects.toThrow('away');
  started[1]?.resolve(7);
  started[2]?.resolve(8);
  expect([await other, await next]).toEqual([7, 8]);
});
