-- min_version: 0.1.0
-- What a new machine costs besides its row (docs/decisions/0098-what-a-registration-costs.md). The lock of machines first, as it is the busiest.
LOCK TABLE machines IN ACCESS EXCLUSIVE MODE;

-- Probes are made by the statement that registers their machines, and for machines that have none while these are locked. The foreign key looked up
-- each machine once more, and locked it. Its ON DELETE CASCADE is in the trigger below.
ALTER TABLE machine_looks DROP CONSTRAINT machine_looks_machine_id_fkey;

-- One trigger for all that follows from new machines, and from those that are gone: the function of each statement trigger runs for every statement.
DROP TRIGGER machines_counted_new ON machines;
DROP TRIGGER machines_counted_gone ON machines;
DROP TRIGGER machines_new_hardware ON machines;
DROP FUNCTION ingot_count_machines();
DROP FUNCTION ingot_keep_new_hardware();

CREATE FUNCTION ingot_add_or_remove_machines() RETURNS trigger LANGUAGE plpgsql AS $$
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
  INSERT INTO machine_value_deltas (rack, labels, provider, customer, site, pool, machines)
  SELECT ingot_rack(spec, labels), labels, spec ->> 'provider', nullif(spec ->> 'customer_id', ''),
    nullif((spec -> 'location') ->> 'site', ''), pool, sign
  FROM changed WHERE service IS DISTINCT FROM 'deleted';
  IF TG_OP = 'DELETE' THEN
    DELETE FROM machine_looks l USING changed WHERE l.machine_id = changed.machine_id;
    RETURN NULL;
  END IF;
  -- In the order of the hardware, so that two batches can't deadlock. A spec that names none is not taken apart.
  INSERT INTO machine_hardware SELECT k.kind, k.key, m.machine_id
    FROM changed m CROSS JOIN LATERAL ingot_hardware_keys(m.spec) k
    WHERE m.service IS DISTINCT FROM 'deleted'
      AND (m.spec -> 'mac_addresses' <> '[]' OR m.spec ->> 'bmc_endpoint' <> '' OR m.spec ->> 'ssh_endpoint' <> '') ORDER BY 1, 2;
  RETURN NULL;
END
$$;
CREATE TRIGGER machines_added AFTER INSERT ON machines REFERENCING NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION ingot_add_or_remove_machines();
CREATE TRIGGER machines_removed AFTER DELETE ON machines REFERENCING OLD TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION ingot_add_or_remove_machines();
