-- min_version: 0.1.0
-- Cells have what decides a headline, so that an overview reads no machine for it (docs/decisions/0089-headlines-from-counts.md).
--
-- The tables and the state are new ones. A replica of an earlier version would fold these deltas without the new columns, and read counts
-- that lack them; it finds its own counts incomplete for good, and counts machine by machine while it still serves.
--
-- A check of such a replica locks its state for as long as it reads all machines. So the state is locked first: where it is not free,
-- this attempt ends before it holds back those that write machines.
LOCK TABLE fleet_count_state IN SHARE ROW EXCLUSIVE MODE;
LOCK TABLE machines IN SHARE ROW EXCLUSIVE MODE;

CREATE TABLE machine_cell_deltas (
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
  -- True or null: what else these conditions may be decides nothing.
  degraded boolean,
  unreachable boolean,
  -- What the upstream reports of a machine that it manages, unless an operator accepted that it differs.
  upstream text,
  provider text,
  customer text,
  site text,
  hardware_model text,
  gpu_model text,
  memory_gib text,
  machines integer NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, vacuum_truncate = off);

-- The columns are those of machines as far as a cell determines them, so that the expressions of filters and facets read
-- either table. An active operation is '-', a time of entering service is -infinity, the id of an upstream '-'.
CREATE TABLE machine_cells (
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
  observed jsonb,
  spec jsonb NOT NULL,
  hardware jsonb NOT NULL,
  machines bigint NOT NULL
) WITH (fillfactor = 50);

-- Counts are read once a check has compared them with the tables, which also counts what was there before. Only checks write this row:
-- one holds its lock from its snapshot to its end.
CREATE TABLE machine_count_state (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  complete boolean NOT NULL,
  checked_at timestamptz,
  -- Differences that checks have found, since the table was made.
  differences bigint NOT NULL DEFAULT 0
);
INSERT INTO machine_count_state (complete) SELECT NOT EXISTS (SELECT FROM machines);

-- When a replica last took on a check. A table of its own, because replicas write it while a check runs.
CREATE TABLE machine_count_claim (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  claimed_at timestamptz NOT NULL
);
INSERT INTO machine_count_claim (claimed_at) SELECT CASE WHEN complete THEN now() ELSE '-infinity' END FROM machine_count_state;

-- The state that replicas of earlier versions read stays as it is from here on, so none of them checks or reads its counts.
UPDATE fleet_count_state SET complete = false;
CREATE FUNCTION ingot_counts_moved_on() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RETURN NULL;
END
$$;
CREATE TRIGGER fleet_count_state_kept BEFORE UPDATE ON fleet_count_state
FOR EACH ROW EXECUTE FUNCTION ingot_counts_moved_on();

CREATE OR REPLACE FUNCTION ingot_count_machines() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
  INSERT INTO machine_cell_deltas (phase, service, install, presence, pool, operation, busy, entered, retired, rma,
    intervention, drained, joined, reason, degraded, unreachable, upstream, provider, customer, site, hardware_model, gpu_model,
    memory_gib, machines)
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
    nullif((conditions -> 'Degraded' -> 'status') = 'true', false), nullif((conditions -> 'Reachable' -> 'status') = 'false', false),
    CASE WHEN observed ->> 'upstreamId' <> '' AND observed -> 'accepted' IS NULL THEN observed ->> 'state' END,
    spec ->> 'provider', nullif(spec ->> 'customer_id', ''), nullif((spec -> 'location') ->> 'site', ''),
    hardware ->> 'model', hardware ->> 'gpu_model', hardware ->> 'memory_gib', sign * count(*)
  FROM changed GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23;
  INSERT INTO machine_rack_deltas
  SELECT ingot_rack(spec, labels), sign * count(*) FROM changed WHERE service IS DISTINCT FROM 'deleted' GROUP BY 1;
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION ingot_count_changed_machines() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO machine_cell_deltas (phase, service, install, presence, pool, operation, busy, entered, retired, rma,
    intervention, drained, joined, reason, degraded, unreachable, upstream, provider, customer, site, hardware_model, gpu_model,
    memory_gib, machines)
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
    nullif((conditions -> 'Degraded' -> 'status') = 'true', false), nullif((conditions -> 'Reachable' -> 'status') = 'false', false),
    CASE WHEN observed ->> 'upstreamId' <> '' AND observed -> 'accepted' IS NULL THEN observed ->> 'state' END,
    spec ->> 'provider', nullif(spec ->> 'customer_id', ''), nullif((spec -> 'location') ->> 'site', ''),
    hardware ->> 'model', hardware ->> 'gpu_model', hardware ->> 'memory_gib', sum(machines)
  FROM (
    SELECT phase, service, install, presence, pool, active_operation_type, active_operation_id, entered_service_at,
      conditions, observed, spec, hardware, -1 AS machines FROM before
    UNION ALL
    SELECT phase, service, install, presence, pool, active_operation_type, active_operation_id, entered_service_at,
      conditions, observed, spec, hardware, 1 AS machines FROM changed) AS both_versions
  GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23 HAVING sum(machines) <> 0;
  RETURN NULL;
END
$$;
