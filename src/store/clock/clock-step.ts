/**
 * Corrects everything that waits for the database's clock after that clock was stepped. Most rows were written on the old
 * clock and a few, right before the step was noticed, on the new one; nothing in them shows which. So every correction is
 * harmless for a row of the new clock: a wait that ends early only causes an early observation, a time to live is never
 * shortened below a whole one from now, and a lease is never longer than a whole one.
 */
import type { PresenceTtls } from '../../domain/agent/agent.ts';
import type { Session } from '../database/database.ts';
import { appendEvents } from '../events/append-events.ts';
import { shiftAfterClockStep } from '../operations/writer/shift-after-clock-step.ts';

export interface ClockStep {
  /** Negative: back. */
  readonly stepMs: number;
  readonly leaseMs: number;
  readonly ttls: PresenceTtls;
}

/** $1, $2: the time to live of an agent that is alive, and of one that has not registered yet. */
const AGENTS_BACK = `
  WITH alive AS MATERIALIZED (
    SELECT machine_id, now() + CASE WHEN status = 'pending' THEN $2::float8 ELSE $1::float8 END * interval '1 s' AS latest
    FROM agent_presence WHERE status <> 'expired' ORDER BY machine_id FOR NO KEY UPDATE)
  UPDATE agent_presence p SET check_at = least(check_at, latest), expires_at = least(expires_at, latest)
  FROM alive WHERE p.machine_id = alive.machine_id AND (check_at > latest OR expires_at > latest)`;

/** $1: the step; $2: the time to live of an agent that is alive. Agents that had expired before the step stay as they are. */
const AGENTS_FORWARD = `
  WITH alive AS MATERIALIZED (
    SELECT machine_id, CASE WHEN status = 'pending' THEN expires_at + $1 * interval '1 ms'
      ELSE greatest(expires_at, now() + $2 * interval '1 s') END AS until
    FROM agent_presence WHERE status <> 'expired' AND expires_at > now() - $1 * interval '1 ms'
    ORDER BY machine_id FOR NO KEY UPDATE)
  UPDATE agent_presence p SET check_at = until, expires_at = until
  FROM alive WHERE p.machine_id = alive.machine_id`;

/** The other statements, by name. */
const BACK = {
  'clock-back-tokens': `UPDATE agents SET token_expires_at = now() + $1 * interval '1 s'
    WHERE token_expires_at > now() + $1 * interval '1 s'`,
  'clock-back-leniency': `UPDATE presence_watch SET watched_at = least(watched_at, now()),
    lenient_until = least(lenient_until, now() + $1 * interval '1 s')`,
  'clock-back-boots': `UPDATE boot_tokens SET issued_at = now(), expires_at = now() + (expires_at - issued_at)
    WHERE issued_at > now()`,
  'clock-back-nodes': `UPDATE nodes SET last_report_at = least(last_report_at, now()),
    state_changed_at = least(state_changed_at, now()) WHERE last_report_at > now() OR state_changed_at > now()`,
  'clock-back-probes': `UPDATE machine_looks SET due_at = due_at - $1 * interval '1 ms' WHERE due_at > '-infinity'`,
  'clock-back-sweeps': `UPDATE upstream_reads SET due_at = due_at - $1 * interval '1 ms',
    held_until = held_until - $1 * interval '1 ms', started_at = least(started_at, now()), read_at = least(read_at, now())`,
  'clock-back-samples': `UPDATE metric_sampling SET sampled_at = least(sampled_at, now()),
    previous_at = least(previous_at, now())`,
} as const;

const FORWARD = {
  'clock-forward-tokens': `UPDATE agents SET token_expires_at = token_expires_at + $1 * interval '1 ms'
    WHERE token_expires_at > now() - $1 * interval '1 ms'`,
  'clock-forward-leniency': `UPDATE presence_watch SET watched_at = greatest(watched_at, now()),
    lenient_until = greatest(lenient_until, now() + $1 * interval '1 s')`,
  'clock-forward-boots': `UPDATE boot_tokens SET issued_at = issued_at + $1 * interval '1 ms',
    expires_at = expires_at + $1 * interval '1 ms' WHERE expires_at > now() - $1 * interval '1 ms'`,
  'clock-forward-nodes': `UPDATE nodes n SET last_report_at = least(now(), last_report_at + $1 * interval '1 ms'),
    state_changed_at = least(now(), state_changed_at + $1 * interval '1 ms')
    FROM machines m WHERE m.machine_id = n.machine_id AND m.install = 'installing'`,
} as const;

/** Runs in the transaction that records the step. */
export async function rearmAfterStep(session: Session, step: ClockStep): Promise<void> {
  await shiftAfterClockStep(session, step.stepMs, step.leaseMs);
  if (step.stepMs < 0) await rearmBack(session, step);
  else await rearmForward(session, step);
  await appendEvents(session, [], ['due', 'tokens']);
}

async function rearmBack(session: Session, { stepMs, ttls }: ClockStep): Promise<void> {
  const backMs = -stepMs;
  const parameters = {
    'clock-back-tokens': [ttls.pendingSeconds],
    'clock-back-leniency': [ttls.keepaliveSeconds],
    'clock-back-boots': [],
    'clock-back-nodes': [],
    'clock-back-probes': [backMs],
    'clock-back-sweeps': [backMs],
    'clock-back-samples': [],
  } as const satisfies Record<keyof typeof BACK, readonly number[]>;
  await session.run('clock-back-agents', AGENTS_BACK, [ttls.keepaliveSeconds, ttls.pendingSeconds]);
  for (const [name, text] of Object.entries(BACK)) {
    await session.run(name, text, parameters[name as keyof typeof BACK]);
  }
}

async function rearmForward(session: Session, { stepMs, ttls }: ClockStep): Promise<void> {
  const parameters = {
    'clock-forward-tokens': [stepMs],
    'clock-forward-leniency': [ttls.keepaliveSeconds],
    'clock-forward-boots': [stepMs],
    'clock-forward-nodes': [stepMs],
  } as const satisfies Record<keyof typeof FORWARD, readonly number[]>;
  await session.run('clock-forward-agents', AGENTS_FORWARD, [stepMs, ttls.keepaliveSeconds]);
  for (const [name, text] of Object.entries(FORWARD)) {
    await session.run(name, text, parameters[name as keyof typeof FORWARD]);
  }
}
