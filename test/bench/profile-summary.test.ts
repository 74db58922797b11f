import { expect, test } from 'vitest';
import { moduleOf, showSummary, summarizeProfile } from '../../bench/rig/profile-summary.ts';

const frame = (id: number, functionName: string, url: string) => ({ id, callFrame: { functionName, url } });

const PROFILE = {
  nodes: [
    frame(1, '(idle)', ''),
    frame(2, '(garbage collector)', ''),
    frame(3, 'append', 'file:///x/dist/src/store/events/append-events.js'),
    frame(4, 'query', 'file:///x/node_modules/pg/lib/client.js'),
    frame(5, 'write', 'node:net'),
  ],
  samples: [1, 2, 3, 4, 5, 3],
  timeDeltas: [5_000, 1_000, 2_000, 3_000, 1_000, 3_000],
};

test('shares are of the time in which the server was not idle', () => {
  const summary = summarizeProfile(PROFILE);
  expect(summary.busyMs).toBe(10);
  expect(summary.garbageShare).toBeCloseTo(0.1);
  expect(summary.modules).toEqual([
    { name: 'src/store/events', share: 0.5 },
    { name: 'pg', share: 0.3 },
    { name: 'garbage collection', share: 0.1 },
    { name: 'Node.js', share: 0.1 },
  ]);
  expect(summary.functions[0]).toEqual({ name: 'append in src/store/events', share: 0.5 });
  expect(showSummary(summary)[0]).toBe('busy for 0.01 s, garbage collection 10.0 %');
});

test('a profile without a busy moment has no shares', () => {
  expect(summarizeProfile({ nodes: [], samples: [], timeDeltas: [] })).toMatchObject({
    busyMs: 0,
    garbageShare: 0,
  });
});

test.each([
  ['file:///x/node_modules/@grpc/grpc-js/build/src/call.js', '@grpc/grpc-js'],
  ['file:///x/node_modules/a/node_modules/@s/b/index.js', '@s/b'],
  ['file:///x/dist/src/main.js', 'src'],
  ['file:///x/dist/src/store/migrate.js', 'src/store'],
  ['file:///x/dist/src/store/operations/writer/row.js', 'src/store/operations'],
  ['', 'Node.js'],
] as const)('%s is %s', (url, name) => {
  expect(moduleOf({ functionName: 'f', url })).toBe(name);
});
