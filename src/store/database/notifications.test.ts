import { EventEmitter } from 'node:events';
import { expect, test, vi } from 'vitest';
import { setUpFakeTimers } from '../../../test/parts/fake-timers.ts';
import type { Database } from './database.ts';
import { Notifications } from './notifications.ts';

/** A connection that is cut right after the answer to its first statement: both arrive together. */
class CutConnection extends EventEmitter {
  async connect(): Promise<void> {}
  async query(): Promise<void> {
    await Promise.resolve();
    this.emit('error', new Error('terminating connection due to administrator command'));
  }
  async end(): Promise<void> {}
}

setUpFakeTimers();

test('a connection that is lost as soon as it listens leaves no timer behind, so that the process can end', async () => {
  const seen: string[] = [];
  const database = { newClient: () => new CutConnection() } as unknown as Database;
  const notifications = new Notifications(database, {
    onNotice: () => {},
    onConnected: () => seen.push('connected'),
    watch: { passed: () => seen.push('passed'), failed: () => seen.push('failed') },
  });
  await notifications.start();
  // Nothing but the next attempt.
  expect([seen, vi.getTimerCount()]).toEqual([['failed'], 1]);
  await notifications.stop();
  expect(vi.getTimerCount()).toBe(0);
});
