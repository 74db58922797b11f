import type { TestServer } from '../parts/server.ts';

/** An operation that stands in its only step since so many minutes, or that has ended after as many. */
export async function standingOperation(
  server: TestServer,
  id: string,
  machineId: string,
  minutes: number,
  status: 'running' | 'completed',
): Promise<void> {
  const ended = status === 'completed';
  const from = new Date(Date.now() - minutes * 60_000 - 5_000).toISOString();
  const until = new Date(Date.parse(from) + minutes * 60_000).toISOString();
  const step = {
    name: 'wait',
    kind: 'await-operator',
    config: {},
    timeoutSeconds: 7200,
    maxRetries: 0,
    title: 'Waiting',
    doneTitle: 'Waited',
    state: ended ? 'succeeded' : 'running',
    attempts: 1,
    startedAt: from,
    attemptStartedAt: from,
    finishedAt: ended ? until : null,
    message: '',
    progress: ended ? 100 : 0,
    memo: {},
    undoAttempts: 0,
  };
  await server.sql(
    `INSERT INTO operations (operation_id, machine_id, request_id, request_fingerprint, type, status, contract, params, steps,
       current, started_by, started_at, finished_at)
     VALUES ($1, $2, $1, '', 'REIMAGE', $3, 'operation', '{}', $4::jsonb, $5, 'operator:o', $6, $7)`,
    [id, machineId, status, JSON.stringify([step]), ended ? 1 : 0, from, ended ? until : null],
  );
  if (!ended)
    await server.sql(`UPDATE machines SET active_operation_id = $1 WHERE machine_id = $2`, [id, machineId]);
}
