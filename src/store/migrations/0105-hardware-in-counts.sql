-- min_version: 0.1.0
-- Cells have the hardware that lists offer as facets, so that its counts do not grow with the fleet (docs/decisions/0048-counted-fleet.md).
-- The counts start empty, and are read again once a check has counted the fleet.
-- Writers lock machines before deltas; and none may append a delta of a cell without hardware after the counts are emptied.
LOCK TABLE machines IN SHARE ROW EXCLUSIVE MODE;
ALTER TABLE machine_count_deltas ADD COLUMN hardware_model text, ADD COLUMN gpu_model text, ADD COLUMN memory_gib text;
ALTER TABLE machine_counts ADD COLUMN hardware jsonb NOT NULL DEFAULT '{}';

CREATE OR REPLACE FUNCTION ingot_count_machines() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
  INSERT INTO machine_count_deltas (phase, service, install, presence, pool, operation, busy, entered, retired, rma,
    intervention, drained, joined, reason, provider, customer, site, machines, hardware_model, gpu_model, memory_gib)
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
    spec ->> 'provider', nullif(spec ->> 'customer_id', ''), nullif((spec -> 'location') ->> 'site', ''), sign * count(*),
    hardware ->> 'model', hardware ->> 'gpu_model', hardware ->> 'memory_gib'
  FROM changed GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21;
  INSERT INTO machine_rack_deltas
  SELECT ingot_rack(spec, labels), sign * count(*) FROM changed WHERE service IS DISTINCT FROM 'deleted' GROUP BY 1;
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION ingot_count_changed_machines() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO machine_count_deltas (phase, service, install, presence, pool, operation, busy, entered, retired, rma,
    intervention, drained, joined, reason, provider, customer, site, machines, hardware_model, gpu_model, memory_gib)
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
    spec ->> 'provider', nullif(spec ->> 'customer_id', ''), nullif((spec -> 'location') ->> 'site', ''), sum(machines),
    hardware ->> 'model', hardware ->> 'gpu_model', hardware ->> 'memory_gib'
  FROM (
    SELECT phase, service, install, presence, pool, active_operation_type, active_operation_id, entered_service_at,
      conditions, spec, hardware, -1 AS machines FROM before
    UNION ALL
    SELECT phase, service, install, presence, pool, active_operation_type, active_operation_id, entered_service_at,
      conditions, spec, hardware, 1 AS machines FROM changed) AS both_versions
  GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21 HAVING sum(machines) <> 0;
  RETURN NULL;
END
$$;

DELETE FROM machine_counts;
DELETE FROM machine_count_deltas;
UPDATE fleet_count_state SET complete = false, claimed_at = '-infinity' WHERE EXISTS (SELECT FROM machines);
