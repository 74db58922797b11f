-- min_version: 0.1.0
-- The database's clock as replicas last saw it, and by how much it has been stepped since this table was made
-- (src/store/database-clock.ts). `seen_at` is for the replica that starts when no other one runs.
CREATE TABLE database_clock (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  seen_at timestamptz NOT NULL,
  stepped_ms bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- The value of stepped_ms for which the times in `steps` are right; a claim moves them to the present one.
ALTER TABLE operations ADD COLUMN clock_ms bigint NOT NULL DEFAULT 0;
