/** Stores a new rollout with its waves and machines, all in one transaction. */
import type { Scope } from '../../domain/access/scope.ts';
import { type Actor, actorLabel, type Role } from '../../domain/actor.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { RolloutState } from '../../domain/rollout/rollout.ts';
import type { Gate, RolloutSpec } from '../../domain/rollout/spec/rollout-spec.ts';
import { NO_FAILURES } from '../../domain/rollout/stop-rule.ts';
import type { Database, Session } from '../database/database.ts';
import { appendEvents } from '../events/append-events.ts';
import { termsOf } from '../owned-records.ts';
import { FINGERPRINT } from './request-fingerprint.ts';
import { rolloutEvent } from './rollout-event.ts';

export interface NewRollout {
  readonly rolloutId: string;
  readonly spec: RolloutSpec;
  readonly state: RolloutState;
  readonly actor: Actor;
  readonly scope: Scope | null;
  readonly requestId: string;
  readonly fingerprint: string;
  readonly rollsBack: string;
  readonly waves: readonly NewWave[];
  /** In the order of their turn. */
  readonly machines: readonly Omit<NewRolloutMachine, 'params'>[];
  readonly paramsOf: (machineId: string) => NewRolloutMachine['params'];
}

export interface NewWave {
  readonly number: number;
  readonly name: string;
  readonly gate: Gate;
  readonly approvalRule: string;
  readonly approverRole: Role;
}

export interface NewRolloutMachine {
  readonly machineId: string;
  /** 0: not eligible. */
  readonly wave: number;
  readonly errorCode: string;
  readonly message: string;
  readonly groups: readonly string[];
  readonly params: Readonly<Record<string, string>>;
}

const INSERT = `
  INSERT INTO rollouts (rollout_id, name, spec, state, tally, actor, created_by, scope, scope_terms, request_id,
    request_fingerprint, rolls_back)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
  ON CONFLICT (created_by, request_id) DO NOTHING RETURNING rollout_id`;

/** Returns the id of the rollout that the same request created before, or that of the new one. */
export async function insertRollout(database: Database, rollout: NewRollout): Promise<string> {
  const { rolloutId, spec, actor, scope, requestId, fingerprint } = rollout;
  return database.transaction(async (session) => {
    const inserted = await session.run('insert-rollout', INSERT, [
      rolloutId,
      spec.name,
      JSON.stringify(spec),
      rollout.state,
      JSON.stringify(NO_FAILURES),
      JSON.stringify({ kind: actor.kind, id: actor.id }),
      actorLabel(actor),
      scope?.text ?? '',
      termsOf(scope),
      requestId,
      fingerprint,
      rollout.rollsBack,
    ]);
    if (inserted.length === 0) {
      const before = await findByRequest(session, rollout);
      if (before !== null) return before;
    }
    await insertInPieces(session, rollout);
    await insertWaves(session, rollout);
    await insertCreation(session, rollout);
    return rolloutId;
  });
}

async function insertCreation(session: Session, rollout: NewRollout): Promise<void> {
  const { rolloutId, spec, actor, requestId, fingerprint, rollsBack } = rollout;
  await session.run(
    'insert-rollout-creation',
    `INSERT INTO rollout_actions (rollout_id, action, done_by, reason, detail, request_id, request_fingerprint)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [
      rolloutId,
      'create',
      actorLabel(actor),
      spec.reason,
      rollsBack === '' ? '' : `rolls back ${rollsBack}`,
      requestId,
      fingerprint,
    ],
  );
  const event = rolloutEvent({
    rolloutId,
    from: '',
    to: rollout.state,
    actor,
    comment: spec.reason,
    metadata: { action: 'create', machines: rollout.machines.length, waves: rollout.waves.length },
    after: { ...spec, machineIds: `${spec.machineIds.length} machines` },
  });
  await appendEvents(session, [event], ['rollouts']);
}

export interface RolloutRequest {
  readonly actor: Actor;
  readonly requestId: string;
  readonly fingerprint: string;
}

/** The rollout that the same request created; null: there is none. The same request id with other content is refused. */
export async function findByRequest(
  session: Session,
  { actor, requestId, fingerprint }: RolloutRequest,
): Promise<string | null> {
  const [row] = await session.run<{ rollout_id: string; request_fingerprint: string }>(
    'find-rollout-by-request',
    `SELECT rollout_id, ${FINGERPRINT} AS request_fingerprint FROM rollouts WHERE created_by = $1 AND request_id = $2`,
    [actorLabel(actor), requestId],
  );
  if (!row) return null;
  if (row.request_fingerprint !== fingerprint) throw rolloutRequestReused(row.rollout_id, requestId);
  return row.rollout_id;
}

export function rolloutRequestReused(rolloutId: string, requestId: string): Fault {
  return new Fault('REQUEST_ID_REUSED', {
    message: `request_id ${requestId} was already used for ${rolloutId} with other content; use a new request_id for new work`,
    metadata: { rollout_id: rolloutId, request_id: requestId },
  });
}

async function insertWaves(session: Session, { rolloutId, waves, state }: NewRollout): Promise<void> {
  await session.run(
    'insert-rollout-waves',
    `INSERT INTO rollout_waves (rollout_id, number, name, state, gate, approval_rule, approver_role, pending, ineligible)
     SELECT $1, w.number, w.name, CASE WHEN w.number = 0 THEN 'done'
       WHEN w.number = 1 AND w.gate <> 'automatic' AND $3 THEN 'waiting_for_approval' ELSE 'waiting' END, w.gate, w."approvalRule",
       w."approverRole", coalesce(m.pending, 0), coalesce(m.ineligible, 0)
     FROM jsonb_to_recordset($2::jsonb)
       AS w(number integer, name text, gate text, "approvalRule" text, "approverRole" text)
     LEFT JOIN (SELECT wave, count(*) FILTER (WHERE state = 'pending') AS pending,
         count(*) FILTER (WHERE state = 'ineligible') AS ineligible
       FROM rollout_machines WHERE rollout_id = $1 GROUP BY wave) AS m ON m.wave = w.number`,
    // The first wave has its turn at once, and can be approved in the call after this one.
    [rolloutId, JSON.stringify([NOT_ELIGIBLE, ...waves]), state === 'running'],
  );
}

const NOT_ELIGIBLE: NewWave = {
  number: 0,
  name: '',
  gate: 'automatic',
  approvalRule: '',
  approverRole: 'operator',
};

const PIECE = 2_500;

/** With the parameters of a piece at a time: a copy of a hundred thousand machines keeps other calls waiting. */
async function insertInPieces(
  session: Session,
  { rolloutId, machines, paramsOf }: NewRollout,
): Promise<void> {
  for (let start = 0; start < machines.length; start += PIECE) {
    const piece = machines.slice(start, start + PIECE);
    const withParams = piece.map((machine) => ({ ...machine, params: paramsOf(machine.machineId) }));
    await insertMachines(session, rolloutId, withParams, start);
  }
}

/** After the machines that are there, in their order. The spec that each has now is kept. */
export async function insertMachines(
  session: Session,
  rolloutId: string,
  machines: readonly NewRolloutMachine[],
  after: number,
): Promise<number> {
  let inserted = 0;
  for (let start = 0; start < machines.length; start += PIECE) {
    const piece = machines.slice(start, start + PIECE);
    const rows = await session.run<{ count: number }>('insert-rollout-machines', INSERT_MACHINES, [
      rolloutId,
      after + start,
      piece.map(({ machineId }) => machineId),
      piece.map(({ wave }) => wave),
      piece.map(({ errorCode }) => errorCode),
      piece.map(({ message }) => message),
      // Arrays of arrays must be rectangular in SQL, and texts of JSON need not be.
      piece.map(({ groups }) => JSON.stringify(groups)),
      piece.map(({ params }) => JSON.stringify(params)),
    ]);
    inserted += rows[0]?.count ?? 0;
  }
  return inserted;
}

const INSERT_MACHINES = `
  WITH inserted AS (
    INSERT INTO rollout_machines (rollout_id, machine_id, position, wave, state, error_code, message, groups, params, spec_seen,
      revision)
    SELECT $1, i.id, $2 + i.n, i.wave, CASE WHEN i.wave = 0 THEN 'ineligible' ELSE 'pending' END, i.code, i.message,
      ARRAY(SELECT jsonb_array_elements_text(i.groups::jsonb)), i.params::jsonb, coalesce(m.spec, '{}'), 1
    FROM unnest($3::text[], $4::integer[], $5::text[], $6::text[], $7::text[], $8::text[])
      WITH ORDINALITY AS i(id, wave, code, message, groups, params, n)
    LEFT JOIN machines m ON m.machine_id = i.id
    ON CONFLICT (rollout_id, machine_id) DO NOTHING RETURNING 1)
  SELECT count(*)::integer AS count FROM inserted`;
