// @module-tag extended: running.test.ts has steps that time out.
/** No attempt outlives its limit by more than a second, whatever it waits for. Durations are those of the events. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operationIdOf } from '../../src/domain/v1/run-id.ts';
import { newMachine } from '../api/fleet.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { newPlan, runEnded, runPhase, startRun, v1Of } from './runs.ts';

const CLUSTER = { targetClusterRef: 'east' };
const LIMIT = { timeoutSeconds: 1, maxRetries: 0 };

/** What each kind of step waits for when it hangs on the fake provider. */
const HANGING = [
  ['netboot', { case: 'netboot', value: {} }],
  ['repave', { case: 'repave', value: { image: 'debian-12' } }],
  ['reboot', { case: 'reboot', value: {} }],
  ['join', { case: 'join', value: { clusterRef: 'east' } }],
  ['verify', { case: 'verify', value: { clusterRef: 'east' } }],
  ['exec', { case: 'ssh', value: { command: 'sleep forever', repeatable: true } }],
  ['shutdown', { case: 'rma', value: { action: 'graceful-shutdown' } }],
] as const;

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

interface StepEvent {
  readonly at: Date;
  readonly comment: string;
  readonly to_state: string;
}

/** From the start of each attempt to its end, in milliseconds. */
async function attemptsOf(from: TestServer, operationId: string): Promise<number[]> {
  const events = await from.sql<StepEvent>(
    `SELECT at, comment, to_state FROM events WHERE operation_id = $1 AND kind IN ('step', 'progress')
     ORDER BY event_id`,
    [operationIdOf(operationId)],
  );
  const durations: number[] = [];
  let startedAt: Date | null = null;
  for (const { at, comment, to_state } of events) {
    if (/^attempt \d+$/.test(comment) || (to_state === 'running' && startedAt === null)) startedAt = at;
    else if (startedAt && (to_state === 'failed' || comment.includes(' failed: '))) {
      durations.push(at.getTime() - startedAt.getTime());
      startedAt = null;
    }
  }
  return durations;
}

describe.concurrent('a step of one second that hangs ends within two', () => {
  test.each(HANGING)('%s', async (hangs, kind) => {
    const { planId } = await newPlan(server, [{ name: 'hanging', kind, ...LIMIT }]);
    const machineId = await newMachine(server, { labels: { 'fake/hang-step': hangs }, spec: CLUSTER });
    const { runId } = await startRun(v1Of(server), 'REPAVE', machineId, { planId });
    const ended = await runEnded(v1Of(server), { runId });
    expect([runPhase(ended), ended.error?.code]).toEqual(['FAILED', 'TIMED_OUT']);
    const attempts = await attemptsOf(server, ended.runId);
    expect(attempts).toHaveLength(1);
    for (const ms of attempts) {
      expect(ms).toBeGreaterThanOrEqual(900);
      expect(ms).toBeLessThan(2_000);
    }
  });
});

test('a step that waits while its replica has no room ends within two seconds too', async () => {
  const full = await startTestServer({ maxInHand: 1 });
  const v1 = v1Of(full);
  const { planId } = await newPlan(full, [
    { name: 'hanging', kind: { case: 'netboot', value: {} }, timeoutSeconds: 2, maxRetries: 0 },
  ]);
  const { planId: busyPlan } = await newPlan(full, [
    { name: 'go', kind: { case: 'ssh', value: { command: 'sleep' } }, timeoutSeconds: 60, maxRetries: 0 },
  ]);
  const waiting = await startRun(
    v1,
    'REPAVE',
    await newMachine(full, { labels: { 'fake/hang-step': 'netboot' } }),
    { planId },
  );
  await until(
    () => full.operations.getOperation({ operationId: waiting.runId }),
    ({ waitingFor }) => waitingFor !== '',
  );
  const busy = await newMachine(full, { labels: { 'fake/hang-step': 'go' } });
  const holding = await startRun(v1, 'REPAVE', busy, { planId: busyPlan });
  const ended = await runEnded(v1, waiting);
  expect(ended.error?.code).toBe('TIMED_OUT');
  const [ms] = await attemptsOf(full, ended.runId);
  expect(ms).toBeLessThan(3_000);
  expect(runPhase(await v1.runs.getRun({ runId: holding.runId }))).toBe('RUNNING');
  await v1.runs.cancelRun({ runId: holding.runId });
  await runEnded(v1, holding);
  await full.stop();
});
