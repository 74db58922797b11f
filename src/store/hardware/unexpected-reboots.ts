/**
 * Reboots that no operation explains. An agent registers when it starts, with the id of its machine's boot; another id than before is
 * a reboot. It is explained by an operation that may have rebooted the machine and was not over before the last sign of life of the former
 * boot: also by one that switched the machine off for a week. A machine in maintenance may be rebooted by hand.
 *
 * Everything runs in the transaction of the registration, under the machine's lock, so a reboot is recorded once.
 */
import type { AgentBoot } from '../../domain/agent/agent.ts';
import type { NewEvent } from '../../domain/event.ts';
import { LEMON_DAYS } from '../../domain/hardware/lemon-score.ts';
import { KINDS_WITHOUT_REBOOT } from '../../domain/hardware/unexpected-reboot.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { textArray } from '../database/array-literal.ts';
import type { Session } from '../database/database.ts';
import { appendEvents } from '../events/append-events.ts';

/** Older ones of a machine that reboots all the time are deleted. */
const KEPT_REBOOTS = 100;

export interface BootedAgent {
  readonly machineId: string;
  readonly boot: AgentBoot | null;
}

export interface Reboot {
  readonly machineId: string;
  readonly bootId: string;
  readonly bootedAt: Date;
}

/** The check of an agent is due a time to live after its last known keepalive, whichever store has it. */
const FIND = `
  WITH other AS MATERIALIZED (
    SELECT i.machine_id, i.boot_id, i.uptime,
      greatest(a.registered_at, p.last_keepalive_at,
        CASE WHEN p.status <> 'pending' THEN least(p.check_at - $4 * interval '1 s', now()) END) AS since
    FROM unnest($1::text[], $2::text[], $3::double precision[]) AS i(machine_id, boot_id, uptime)
      JOIN agents a USING (machine_id) JOIN agent_presence p USING (machine_id)
    WHERE a.boot_id <> i.boot_id)
  SELECT machine_id AS "machineId", boot_id AS "bootId",
    greatest(since, now() - coalesce(uptime, 0) * interval '1 s') AS "bootedAt"
  FROM other
  WHERE NOT EXISTS (
    SELECT FROM operations o, jsonb_array_elements(o.steps) AS s
    WHERE o.machine_id = other.machine_id AND (o.finished_at IS NULL OR o.finished_at >= other.since)
      AND s ->> 'startedAt' IS NOT NULL AND s ->> 'kind' <> ALL($5::text[]))`;

/** Before the registration is written: of these agents, those in another boot than before that nothing explains. */
export async function findUnexpectedReboots(
  session: Session,
  agents: readonly BootedAgent[],
  machines: ReadonlyMap<string, Machine>,
  ttlSeconds: number,
): Promise<Reboot[]> {
  const booted = agents.flatMap(({ machineId, boot }) =>
    boot && machines.get(machineId)?.phase !== 'MAINTENANCE' ? [{ machineId, ...boot }] : [],
  );
  if (booted.length === 0) return [];
  return session.run<Reboot & Record<string, unknown>>('find-unexpected-reboots', FIND, [
    booted.map(({ machineId }) => machineId),
    booted.map(({ id }) => id),
    booted.map(({ uptimeSeconds }) => uptimeSeconds),
    ttlSeconds,
    textArray(KINDS_WITHOUT_REBOOT),
  ]);
}

/** A boot that is recorded already was left and found again: an agent that ran twice. It is no further reboot. */
const STORE = `
  INSERT INTO machine_reboots (machine_id, boot_id, at)
  SELECT * FROM unnest($1::text[], $2::text[], $3::timestamptz[])
  ON CONFLICT DO NOTHING RETURNING machine_id`;

const PRUNE = `
  DELETE FROM machine_reboots r USING (
    SELECT machine_id, boot_id, at, row_number() OVER (PARTITION BY machine_id ORDER BY at DESC, boot_id) AS place
    FROM machine_reboots WHERE machine_id = ANY($1)) AS numbered
  WHERE r.machine_id = numbered.machine_id AND r.boot_id = numbered.boot_id
    AND (numbered.place > ${KEPT_REBOOTS} OR numbered.at < now() - interval '${LEMON_DAYS} days')`;

export async function recordUnexpectedReboots(session: Session, reboots: readonly Reboot[]): Promise<void> {
  if (reboots.length === 0) return;
  const rows = await session.run<{ machine_id: string }>('store-unexpected-reboots', STORE, [
    reboots.map(({ machineId }) => machineId),
    reboots.map(({ bootId }) => bootId),
    reboots.map(({ bootedAt }) => bootedAt),
  ]);
  const stored = new Set(rows.map((row) => row.machine_id));
  if (stored.size === 0) return;
  await session.run('prune-unexpected-reboots', PRUNE, [[...stored]]);
  await appendEvents(session, reboots.filter(({ machineId }) => stored.has(machineId)).map(eventOf));
}

function eventOf({ machineId, bootId, bootedAt }: Reboot): NewEvent {
  return {
    kind: 'hardware',
    subject: 'host',
    from: '',
    to: 'rebooted',
    actor: { kind: 'agent', id: machineId },
    comment: 'the machine rebooted, and no operation explains it',
    metadata: { source: 'agent', boot_id: bootId, booted_at: bootedAt.toISOString() },
    machineId,
    operationId: null,
    snapshot: null,
  };
}
