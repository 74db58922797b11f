-- min_version: 0.1.0
-- The approval that an operation waits for or had; src/domain/operation/approval.ts. Beside what the API shows it holds
-- `change`, what the start does to the machine, and `askedIn`, the state of the machine when it was asked for.
ALTER TABLE operations ADD COLUMN approval jsonb;
CREATE INDEX operations_awaiting_approval ON operations (operation_id)
  WHERE status = 'pending' AND approval ->> 'state' = 'waiting';
