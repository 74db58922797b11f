-- min_version: 0.1.0
-- Counts of machines that cost the same for a hundred machines and for a million (docs/decisions/0048-counted-fleet.md).
--
-- A cell is a combination of everything that machines are usually counted, filtered and scoped by. Triggers append what a
-- statement adds to cells and takes from them, in its own transaction: only inserts, so writers never wait for each other.
-- Replicas fold these rows into `machine_counts`. A count is the sum of both in one snapshot, exact at every moment. Triggers,
-- and not the statements that write machines: replicas of earlier versions write some, too.
CREATE TABLE machine_count_deltas (
  phase text NOT NULL,
  service text,
  install text,
  presence text,
  pool text,
  operation text,
  busy boolean NOT NULL,
  entered boolean NOT NULL,
  retired boolean,
  rma boolean,
  intervention boolean,
  drained boolean,
  joined boolean,
  -- Of the condition that needs attention.
  reason text,
  provider text,
  customer text,
  site text,
  machines integer NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, vacuum_truncate = off);

-- The columns are those of machines as far as a cell determines them, so that the expressions of filters and facets read
-- either table. An active operation is '-', a time of entering service is -infinity.
CREATE TABLE machine_counts (
  cell bytea PRIMARY KEY,
  phase text NOT NULL,
  service text,
  install text,
  presence text,
  pool text,
  conditions jsonb NOT NULL,
  active_operation_id text,
  active_operation_type text,
  entered_service_at timestamptz,
  spec jsonb NOT NULL,
  machines bigint NOT NULL
) WITH (fillfactor = 50);

-- Machines of the inventory by rack; the empty text is for those without one.
CREATE TABLE machine_rack_deltas (
  rack text NOT NULL,
  machines integer NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, vacuum_truncate = off);
CREATE TABLE machine_rack_counts (
  rack text COLLATE "C" PRIMARY KEY,
  machines bigint NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX machine_rack_counts_by_size ON machine_rack_counts (machines DESC, rack);

-- Operations by the minute of their end.
CREATE TABLE operation_end_deltas (
  minute timestamptz NOT NULL,
  phase text NOT NULL,
  operations integer NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, vacuum_truncate = off);
CREATE TABLE operation_end_counts (
  minute timestamptz NOT NULL,
  phase text NOT NULL,
  operations bigint NOT NULL,
  PRIMARY KEY (minute, phase)
) WITH (fillfactor = 70);

-- Counts are read once a check has compared them with the tables, which also counts what was there before the triggers.
CREATE TABLE fleet_count_state (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  complete boolean NOT NULL,
  claimed_at timestamptz NOT NULL DEFAULT '-infinity',
  checked_at timestamptz,
  -- Differences that checks have found, since the table was made.
  differences bigint NOT NULL DEFAULT 0
);
-- One replica folds at a time: it locks this row.
CREATE TABLE fleet_count_fold (singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton));
INSERT INTO fleet_count_fold DEFAULT VALUES;

CREATE FUNCTION ingot_rack(spec jsonb, labels jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(nullif((spec -> 'location') ->> 'rack', ''), nullif(labels ->> 'rack', ''), '')
$$;

CREATE FUNCTION ingot_count_machines() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
  INSERT INTO machine_count_deltas
  SELECT phase, service, install, presence, pool, active_operation_type, active_operation_id IS NOT NULL,
    entered_service_at IS NOT NULL,
    (conditions -> 'Retired' -> 'status') = 'true', (conditions -> 'RMA' -> 'status') = 'true',
    (conditions -> 'NeedsIntervention' -> 'status') = 'true', (conditions -> 'Drained' -> 'status') = 'true',
    (conditions -> 'InCustomerCluster' -> 'status') = 'true',
    CASE
      WHEN (conditions -> 'Retired' -> 'status') = 'true' THEN conditions -> 'Retired' ->> 'reason'
      WHEN (conditions -> 'RMA' -> 'status') = 'true' THEN conditions -> 'RMA' ->> 'reason'
      WHEN (conditions -> 'NeedsIntervention' -> 'status') = 'true' THEN conditions -> 'NeedsIntervention' ->> 'reason'
    END,
    spec ->> 'provider', nullif(spec ->> 'customer_id', ''), nullif((spec -> 'location') ->> 'site', ''), sign * count(*)
  FROM changed GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17;
  INSERT INTO machine_rack_deltas
  SELECT ingot_rack(spec, labels), sign * count(*) FROM changed WHERE service IS DISTINCT FROM 'deleted' GROUP BY 1;
  RETURN NULL;
END
$$;

-- Every operation changes its machine twice, so this one counts: one pass over both versions of all machines of a statement.
CREATE FUNCTION ingot_count_changed_machines() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO machine_count_deltas
  SELECT phase, service, install, presence, pool, active_operation_type, active_operation_id IS NOT NULL,
    entered_service_at IS NOT NULL,
    (conditions -> 'Retired' -> 'status') = 'true', (conditions -> 'RMA' -> 'status') = 'true',
    (conditions -> 'NeedsIntervention' -> 'status') = 'true', (conditions -> 'Drained' -> 'status') = 'true',
    (conditions -> 'InCustomerCluster' -> 'status') = 'true',
    CASE
      WHEN (conditions -> 'Retired' -> 'status') = 'true' THEN conditions -> 'Retired' ->> 'reason'
      WHEN (conditions -> 'RMA' -> 'status') = 'true' THEN conditions -> 'RMA' ->> 'reason'
      WHEN (conditions -> 'NeedsIntervention' -> 'status') = 'true' THEN conditions -> 'NeedsIntervention' ->> 'reason'
    END,
    spec ->> 'provider', nullif(spec ->> 'customer_id', ''), nullif((spec -> 'location') ->> 'site', ''), sum(machines)
  FROM (
    SELECT phase, service, install, presence, pool, active_operation_type, active_operation_id, entered_service_at,
      conditions, spec, -1 AS machines FROM before
    UNION ALL
    SELECT phase, service, install, presence, pool, active_operation_type, active_operation_id, entered_service_at,
      conditions, spec, 1 AS machines FROM changed) AS both_versions
  GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17 HAVING sum(machines) <> 0;
  RETURN NULL;
END
$$;

CREATE FUNCTION ingot_count_moved_machine() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO machine_rack_deltas
  SELECT rack, sum(machines) FROM (
    SELECT ingot_rack(OLD.spec, OLD.labels) AS rack, -1 AS machines WHERE OLD.service IS DISTINCT FROM 'deleted'
    UNION ALL
    SELECT ingot_rack(NEW.spec, NEW.labels), 1 WHERE NEW.service IS DISTINCT FROM 'deleted') AS both_versions
  GROUP BY 1 HAVING sum(machines) <> 0;
  RETURN NULL;
END
$$;

CREATE FUNCTION ingot_count_ended_operation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' AND OLD.finished_at IS NOT NULL THEN
    INSERT INTO operation_end_deltas
    VALUES (date_trunc('minute', OLD.finished_at, 'UTC'), ingot_operation_phase(OLD.status), -1);
  END IF;
  IF TG_OP <> 'DELETE' AND NEW.finished_at IS NOT NULL THEN
    INSERT INTO operation_end_deltas
    VALUES (date_trunc('minute', NEW.finished_at, 'UTC'), ingot_operation_phase(NEW.status), 1);
  END IF;
  RETURN NULL;
END
$$;

CREATE TRIGGER machines_counted_new AFTER INSERT ON machines
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ingot_count_machines();
CREATE TRIGGER machines_counted_gone AFTER DELETE ON machines
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ingot_count_machines();
CREATE TRIGGER machines_counted AFTER UPDATE ON machines
REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ingot_count_changed_machines();
CREATE TRIGGER machines_moved AFTER UPDATE OF spec, labels, service ON machines
FOR EACH ROW WHEN (OLD.spec IS DISTINCT FROM NEW.spec OR OLD.labels IS DISTINCT FROM NEW.labels
  OR (OLD.service IS NOT DISTINCT FROM 'deleted') <> (NEW.service IS NOT DISTINCT FROM 'deleted'))
EXECUTE FUNCTION ingot_count_moved_machine();

CREATE TRIGGER operations_counted_new AFTER INSERT ON operations
FOR EACH ROW WHEN (NEW.finished_at IS NOT NULL) EXECUTE FUNCTION ingot_count_ended_operation();
CREATE TRIGGER operations_counted AFTER UPDATE OF status, finished_at ON operations
FOR EACH ROW WHEN (OLD.finished_at IS DISTINCT FROM NEW.finished_at
  OR (NEW.finished_at IS NOT NULL AND OLD.status <> NEW.status))
EXECUTE FUNCTION ingot_count_ended_operation();
CREATE TRIGGER operations_counted_gone AFTER DELETE ON operations
FOR EACH ROW WHEN (OLD.finished_at IS NOT NULL) EXECUTE FUNCTION ingot_count_ended_operation();

-- A fleet that is there already is counted by the first replica that starts.
INSERT INTO fleet_count_state (complete, claimed_at)
SELECT count(*) = 0, CASE WHEN count(*) = 0 THEN now() ELSE '-infinity' END FROM (SELECT FROM machines LIMIT 1) AS any_machine;
