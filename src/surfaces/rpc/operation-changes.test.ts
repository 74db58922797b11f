import { expect, it } from 'vitest';
import type { Operation } from '../../domain/operation/operation.ts';
import type { Session } from '../../store/database/database.ts';
import type { StoredEvent } from '../../store/events/event-log.ts';
import { progressOfOperation } from '../../store/operations/operation-progress.ts';
import { OperationChanges, SharedReads } from './operation-changes.ts';

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

const OPERATION: Operation = {
  operationId: 'op-1',
  machineId: 'm-1',
  requestId: 'r-1',
  type: 'REBOOT',
  status: 'pending',
  planId: '',
  completionPolicy: 'operation',
  params: {},
  steps: [],
  current: 0,
  error: null,
  waitingFor: '',
  approval: null,
  cancelRequested: false,
  startedBy: 'admin:a',
  rolloutId: '',
  createdAt: new Date(0),
  startedAt: null,
  finishedAt: null,
};

function eventOf(operationId: string): StoredEvent {
  return {
    ...{ eventId: 1, at: new Date(0), kind: 'operation', subject: 'REBOOT', from: '', to: 'pending' },
    ...{ actorKind: 'system', actorId: 'a', comment: '', metadata: '{}', machineId: 'm-1', operationId },
    ...{ address: null, requestId: null, via: null, changes: [] },
    snapshot: progressOfOperation(OPERATION),
  };
}

/** Of one that is watched: the operations that it reads, and what a watcher receives of events of one operation. */
function changes() {
  const read: unknown[] = [];
  const run = async (_name: string, _text: string, values: readonly unknown[] = []) => {
    read.push(...values);
    return [];
  };
  const made = new OperationChanges({ run } as Session);
  const shown = { api: 'v2', filter: '', matches: null, scope: null, messageOf: () => ({}) } as const;
  const seen = async (operationId: string) => (await made.read([eventOf(operationId)], shown)).length;
  return { made, read, seen };
}

it('does not read the operations that this replica has started while there are watchers', async () => {
  const { made, read, seen } = changes();
  const end = made.watch();
  made.started(OPERATION);
  expect(await seen('op-1')).toBe(1);
  expect(read).toEqual([]);
  expect(await seen('op-2')).toBe(0);
  expect(read).toEqual([['op-2']]);
  end();
  expect(await seen('op-1')).toBe(0);
});

it('keeps no operations without watchers, and of many only the last ones', async () => {
  const { made, read, seen } = changes();
  made.started(OPERATION);
  expect(await seen('op-1')).toBe(0);
  made.watch();
  for (let number = 0; number < 10_000; number += 1)
    made.started({ ...OPERATION, operationId: `many-${number}` });
  read.length = 0;
  expect([await seen('many-9999'), await seen('many-0')]).toEqual([1, 0]);
  expect(read).toEqual([['many-0']]);
});
