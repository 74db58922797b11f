import { create, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { expect, test } from 'vitest';
import { installsAll } from '../../bench/rig/build-commit.ts';
import { Cleanup, runWithCleanup } from '../../bench/rig/cleanup.ts';
import { EventReader } from '../../bench/rig/event-reader.ts';
import { isComplete } from '../../bench/rig/http-load.ts';
import {
  OperationEvent_Kind,
  OperationEventSchema,
} from '../../src/gen/baremetal/v2/operation_service_pb.ts';

test('what was made last is removed first, also after a failure, and only once', async () => {
  const removed: string[] = [];
  const cleanup = new Cleanup();
  cleanup.add(() => void removed.push('folder'));
  cleanup.add(() => {
    throw new Error('no such process');
  });
  cleanup.add(() => void removed.push('server'));
  await expect(cleanup.run()).rejects.toThrow('no such process');
  await expect(cleanup.run()).rejects.toThrow('no such process');
  expect(removed).toEqual(['server', 'folder']);
});

test('a benchmark that fails cleans up and reports its failure', async () => {
  const removed: string[] = [];
  const work = runWithCleanup(async (cleanup) => {
    cleanup.add(() => void removed.push('folder'));
    throw new Error('refused');
  });
  await expect(work).rejects.toThrow('refused');
  expect(removed).toEqual(['folder']);
});

test('installed packages are used for a commit that needs no others', () => {
  const installed = {
    'node_modules/a': { version: '1', integrity: 'x' },
    'node_modules/b': { version: '2' },
  };
  const wanted = { '': {}, 'node_modules/a': { version: '1', integrity: 'x' } };
  expect(installsAll(wanted, installed)).toBe(true);
  expect(installsAll({ ...wanted, 'node_modules/c': { version: '1', optional: true } }, installed)).toBe(
    true,
  );
  expect(installsAll({ ...wanted, 'node_modules/c': { version: '1' } }, installed)).toBe(false);
  expect(installsAll({ 'node_modules/a': { version: '1', integrity: 'y' } }, installed)).toBe(false);
});

test('an answer is complete with its length, or with its last chunk', () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n';
  expect([head, `${head}abc`, `${head}abcd`].map(isComplete)).toEqual([false, false, true]);
  const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n';
  expect([chunked, `${chunked}0\r\n\r\n`].map(isComplete)).toEqual([false, true]);
});

test('time and kind of an event are read without the rest, whatever chunks it comes in', () => {
  const event = create(OperationEventSchema, {
    ts: timestampFromMs(1_700_000_000_123),
    kind: OperationEvent_Kind.STEP,
    message: 'rebooting',
    snapshot: { operationId: 'op-1', machineId: 'm' },
  });
  const body = toBinary(OperationEventSchema, event);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length, 1);
  const wire = Buffer.concat([head, body, head, body]);
  const seen: unknown[] = [];
  const reader = new EventReader();
  for (let at = 0; at < wire.length; at += 7)
    reader.push(wire.subarray(at, at + 7), ({ kind, atMs }) => seen.push({ kind, atMs }));
  expect(seen).toEqual(Array(2).fill({ kind: OperationEvent_Kind.STEP, atMs: 1_700_000_000_123 }));
});
