-- min_version: 0.1.0
-- When the attempt under way has used up its time: an operation that is overdue is claimed also by a replica that has
-- all the work it may have.
ALTER TABLE operations ADD COLUMN deadline_at timestamptz;
CREATE INDEX operations_by_deadline ON operations (deadline_at)
  WHERE deadline_at IS NOT NULL AND status IN ('pending', 'running', 'compensating');

-- A log keeps its first and its last part. Lines of the last part are marked, and taken away as newer ones come; how
-- much is missing between the two parts is counted, for the line that says so.
ALTER TABLE operation_logs ADD COLUMN tail boolean NOT NULL DEFAULT false;
CREATE TABLE operation_log_omissions (
  operation_id text COLLATE "C" PRIMARY KEY REFERENCES operations ON DELETE CASCADE,
  lines bigint NOT NULL,
  bytes bigint NOT NULL
);
