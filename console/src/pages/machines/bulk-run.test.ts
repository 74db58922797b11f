import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Candidate } from './bulk-actions.ts';
import { BulkRun } from './bulk-run.ts';

const eligible = (count: number): Candidate[] =>
  Array.from({ length: count }, (_, place) => ({
    machineId: `m${place}`,
    reason: '',
    activeOperationId: '',
  }));

const tick = () => sleep(1);

describe('a bulk run', () => {
  it('sends to eligible machines only, at most eight at a time, each with its own request id', async () => {
    let under = 0;
    let most = 0;
    const sent = new Map<string, string>();
    const run = new BulkRun({
      candidates: [...eligible(40), { machineId: 'x', reason: 'It is busy.', activeOperationId: '' }],
      requestId: 'console-1',
      send: async ({ machineId }, requestId) => {
        under += 1;
        most = Math.max(most, under);
        sent.set(machineId, requestId);
        await tick();
        under -= 1;
        return `op-${machineId}`;
      },
      explain: String,
    });
    await run.run();
    expect(most).toBe(8);
    expect([...sent.keys()].sort()).toEqual(
      eligible(40)
        .map(({ machineId }) => machineId)
        .sort(),
    );
    expect(new Set(sent.values()).size).toBe(40);
    expect(run.counts()).toMatchObject({ started: 40, ineligible: 1, waiting: 0, sending: 0 });
    expect(run.results()[3]).toEqual({
      machineId: 'm3',
      state: 'started',
      operationId: 'op-m3',
      message: '',
    });
    expect(run.results().at(-1)).toMatchObject({ state: 'ineligible', message: 'It is busy.' });
  });

  it('sends nothing more once it is stopped, and marks the remaining machines as stopped', async () => {
    const sent: string[] = [];
    const run: BulkRun = new BulkRun({
      candidates: eligible(20),
      requestId: 'r',
      concurrency: 2,
      send: async ({ machineId }) => {
        sent.push(machineId);
        await tick();
        if (sent.length === 4) run.stop();
        return 'op';
      },
      explain: String,
    });
    await run.run();
    expect(sent.length).toBeLessThanOrEqual(5);
    expect(run.counts()).toMatchObject({ started: sent.length, stopped: 20 - sent.length, sending: 0 });
    expect(run.isRunning()).toBe(false);
  });

  it("keeps the server's error, and retries with the same request ids", async () => {
    const asked: string[] = [];
    const run = new BulkRun({
      candidates: eligible(3),
      requestId: 'r',
      send: async ({ machineId }, requestId) => {
        asked.push(`${machineId} ${requestId}`);
        if (machineId === 'm1' && asked.length <= 3) throw new Error('no such step');
        return `op-${machineId}`;
      },
      explain: (error) => (error instanceof Error ? error.message : ''),
    });
    await run.run();
    expect(run.results()[1]).toEqual({
      machineId: 'm1',
      state: 'failed',
      operationId: '',
      message: 'no such step',
    });
    await run.retry();
    expect(asked.slice(3)).toEqual(['m1 r-1']);
    expect(run.counts()).toMatchObject({ started: 3, failed: 0 });
  });

  it('notifies its listeners when it starts and when it ends', async () => {
    const run = new BulkRun({
      candidates: eligible(1),
      requestId: 'r',
      send: async () => 'op',
      explain: String,
    });
    const seen: boolean[] = [];
    run.subscribe(() => seen.push(run.isRunning()));
    await run.run();
    expect([seen[0], seen.at(-1)]).toEqual([true, false]);
  });
});
