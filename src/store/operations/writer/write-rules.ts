/**
 * The one writer of operations. No SQL outside this folder writes a row of `operations` (one-writer.test.ts). A file is one
 * statement, or one transaction that joins statements: operation-starter.ts, operation-store.ts (claim, renew, record,
 * release), record-cancel.ts, record-action.ts.
 *
 * Theory of operation
 *
 * Holder and fence. A claim writes `owner` and adds one to `epoch`. From then on the holder names both in every write
 * (renew, record, release), and the write changes nothing when the row has others. The epoch grows in two statements only:
 * in a claim, and in an operator's action, which takes the row away from its holder. A start that claims what it creates inserts
 * the row with an owner and the epoch 1 (claim-new-operation.ts). Callers and operators do not fence: they
 * lock the row first and decide on what they have read.
 *
 * `due_at` is when the row may be claimed. A new row is due at once, a waiting one at its next poll, a held one when its lease
 * ends, so an expired lease is simply due. Only the database's clock decides; when that clock is stepped,
 * shift-after-clock-step.ts moves the times along. `deadline_at` is when the current attempt has used up its time limit:
 * overdue rows are claimed also by a replica that is full.
 *
 * An operation that awaits approval is pending and due at infinity, and a claim leaves it out; record-approval.ts makes it due.
 *
 * `signals` counts what a waiting operation may be waiting for. A signal adds one and makes a row without a holder due (WAKE).
 * A record that releases the lease compares the count with the one that its holder knew: a missed signal makes the row due at once.
 *
 * `deaths` counts holders that were lost since the last progress. A claim adds one when it takes over another owner's lease;
 * a holder that was only cut off from the database takes it back.
 *
 * One transaction holds a change of an operation, what it does to the machine (`active_operation_id` above all) and the
 * events of both.
 *
 * Lock order: machines, then plans, then operations, each in the order of their ids; last the lock of the event log
 * (../../events/append-events.ts). A statement that writes several operations locks them in that order first.
 */
import { ACTIVE_STATUSES } from '../../../domain/operation/operation-status.ts';

/** As the partial indexes spell it: with bound values the planner would not use them. */
export const ACTIVE = `status IN (${ACTIVE_STATUSES.map((status) => `'${status}'`).join(', ')})`;

/** No replica claims it, whatever makes it due. */
export const AWAITS_APPROVAL = `coalesce(approval ->> 'state', '') = 'waiting'`;

/** Assignments that deliver a signal. The holder of a held row learns of it in its next record. */
export const WAKE = `signals = signals + 1,
  due_at = CASE WHEN owner IS NULL AND NOT ${AWAITS_APPROVAL} THEN now() ELSE due_at END`;
