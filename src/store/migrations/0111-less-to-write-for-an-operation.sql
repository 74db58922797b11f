-- min_version: 0.1.0
-- Every operation writes six events and more, and each event had an entry in the index by operation. Those of the operation itself are found by its
-- machine (src/store/filter/event-columns.ts), so the index keeps what else happened because of it, also to other machines
-- (docs/decisions/0101-less-to-write-for-an-operation.md).
--
-- In the order in which writers lock: a migration that had events first would deadlock with them.
LOCK TABLE machines, operations, operation_logs, events IN ACCESS EXCLUSIVE MODE;

DROP INDEX events_by_operation;
CREATE INDEX events_by_operation ON events (operation_id, event_id)
  WHERE operation_id IS NOT NULL AND kind <> ALL (ARRAY['operation', 'step', 'progress']);

-- A start holds the lock of the machine, and a line of a log is written only where its operation is, in the same statement. To search for them
-- once more for each row costs more than the index entries of the row. What the foreign keys did for deletions, triggers do.
ALTER TABLE operations DROP CONSTRAINT operations_machine_id_fkey;
ALTER TABLE operation_logs DROP CONSTRAINT operation_logs_operation_id_fkey;

CREATE FUNCTION ingot_refuse_machines_with_operations() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  busy text;
BEGIN
  SELECT g.machine_id INTO busy FROM gone g WHERE EXISTS (SELECT FROM operations o WHERE o.machine_id = g.machine_id) LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'machine % has operations', busy USING ERRCODE = 'foreign_key_violation';
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER machines_without_operations AFTER DELETE ON machines
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION ingot_refuse_machines_with_operations();

CREATE FUNCTION ingot_delete_logs_of_operations() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM operation_logs l USING gone g WHERE l.operation_id = g.operation_id;
  RETURN NULL;
END
$$;
CREATE TRIGGER operations_without_logs AFTER DELETE ON operations
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION ingot_delete_logs_of_operations();
