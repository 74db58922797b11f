-- min_version: 0.1.0
-- Erasures that failed, one for each attempt: no certificate says that anything was erased, and an older certificate must not stand for them.
CREATE TABLE erase_failures (
  machine_id text COLLATE "C" NOT NULL,
  operation_id text COLLATE "C" NOT NULL,
  key text NOT NULL,
  failed_at timestamptz NOT NULL,
  message text NOT NULL,
  PRIMARY KEY (machine_id, operation_id, key)
);
CREATE INDEX erase_failures_newest ON erase_failures (machine_id, failed_at DESC);
