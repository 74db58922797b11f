/**
 * Every write to an operation's row, kept by a trigger that only the storm's database has. The events say what a
 * holder believed that it did; the history says who held the row at that moment, under which epoch. The two
 * share a transaction, so a write by a holder who had lost the row can't hide.
 *
 * Renewals, which move nothing but due_at, are left out.
 */
import type { Rows } from './storm-database.ts';

const INSTALL = `
  CREATE TABLE storm_writes (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    operation_id text NOT NULL,
    status_before text NOT NULL,
    status_after text NOT NULL,
    owner_before text,
    owner_after text,
    epoch_before bigint NOT NULL,
    epoch_after bigint NOT NULL,
    was_cancel_request boolean NOT NULL
  );
  CREATE FUNCTION storm_note_write() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO storm_writes (operation_id, status_before, status_after, owner_before, owner_after, epoch_before,
        epoch_after, was_cancel_request)
      VALUES (NEW.operation_id, OLD.status, NEW.status, OLD.owner, NEW.owner, OLD.epoch, NEW.epoch,
        NEW.cancel_requested AND NOT OLD.cancel_requested);
      RETURN NULL;
    END
  $$;
  CREATE TRIGGER storm_writes AFTER UPDATE ON operations FOR EACH ROW
    WHEN ((OLD.status, OLD.owner, OLD.epoch, OLD.steps, OLD.current, OLD.waiting_for, OLD.cancel_requested)
      IS DISTINCT FROM (NEW.status, NEW.owner, NEW.epoch, NEW.steps, NEW.current, NEW.waiting_for, NEW.cancel_requested))
    EXECUTE FUNCTION storm_note_write()`;

export async function keepWriteHistory(database: Rows): Promise<void> {
  await database.rows(INSTALL);
}

export interface Write {
  readonly seq: number;
  readonly xid: number;
  readonly operationId: string;
  readonly statusBefore: string;
  readonly statusAfter: string;
  readonly ownerBefore: string | null;
  readonly ownerAfter: string | null;
  readonly epochBefore: number;
  readonly epochAfter: number;
  readonly wasCancelRequest: boolean;
}

export function readWriteHistory(database: Rows): Promise<Write[]> {
  return database.rows<Write>(`
    SELECT seq::float8, xid::text::float8 AS xid, operation_id AS "operationId", status_before AS "statusBefore",
      status_after AS "statusAfter", owner_before AS "ownerBefore", owner_after AS "ownerAfter",
      epoch_before::float8 AS "epochBefore", epoch_after::float8 AS "epochAfter",
      was_cancel_request AS "wasCancelRequest"
    FROM storm_writes ORDER BY seq`);
}
