import { expect, it } from 'vitest';
import { KeyedMutex } from './keyed-mutex.ts';

const { signal } = new AbortController();

it('tells work that yields that another caller waits, and lets that one follow', async () => {
  const mutex = new KeyedMutex();
  const order: string[] = [];
  const yielding = mutex.tryRun('bmc', signal, async (wanted) => {
    await new Promise((resolve) => wanted.addEventListener('abort', resolve, { once: true }));
    order.push('yielded');
    return 'partly';
  });
  const operation = mutex.run('bmc', signal, async () => {
    order.push('operation');
  });
  expect(await yielding).toBe('partly');
  await operation;
  expect(order).toEqual(['yielded', 'operation']);
});

it('does not start work that yields while another caller has the mutex, and tells no other key', async () => {
  const mutex = new KeyedMutex();
  let isWanted = false;
  const other = mutex.tryRun('other', signal, async (wanted) => {
    await mutex.run('bmc', signal, async () => {
      expect(await mutex.tryRun('bmc', signal, async () => 'read')).toBeNull();
    });
    isWanted = wanted.aborted;
    return 'read';
  });
  expect(await other).toBe('read');
  expect(isWanted).toBe(false);
  expect(await mutex.tryRun('bmc', signal, async () => 'read')).toBe('read');
});
