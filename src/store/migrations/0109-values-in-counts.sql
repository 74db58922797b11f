-- min_version: 0.1.0
-- Machines of the inventory by rack, also of one customer, site, pool or provider, and by the values of each label
-- (docs/decisions/0090-values-in-counts.md): a fleet has too many of both for cells. The tables of racks alone stay for replicas of earlier versions,
-- which do not read them any more (migration 0107).
LOCK TABLE machines IN SHARE ROW EXCLUSIVE MODE;

-- Either what machines have, or one value of one list, which a check found wrong.
CREATE TABLE machine_value_deltas (
  rack text,
  labels jsonb,
  provider text,
  customer text,
  site text,
  pool text,
  list text,
  value text,
  machines integer NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, vacuum_truncate = off);

-- The key is a digest, because a label may be longer than an index allows.
CREATE TABLE machine_values (
  key bytea PRIMARY KEY,
  list text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  machines bigint NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX machine_values_by_size ON machine_values (list, machines DESC, (left(value, 200)));
-- Those that no machine has any more, which are deleted later.
CREATE INDEX machine_values_empty ON machine_values (machines) WHERE machines = 0;

-- The lists that a delta changes, with the value in each. The rack '' is that of machines without one; a label that is empty is none.
CREATE FUNCTION ingot_values_of(d machine_value_deltas) RETURNS TABLE (list text, value text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT d.list, d.value WHERE d.list IS NOT NULL
  UNION ALL SELECT within.list, d.rack FROM (VALUES ('rack'), ('rack provider=' || d.provider), ('rack customer_id=' || d.customer),
      ('rack location.site=' || d.site), ('rack pool=' || d.pool)) AS within(list)
    WHERE d.list IS NULL AND within.list IS NOT NULL
  UNION ALL SELECT each.list, each.value FROM jsonb_each_text(d.labels) AS label(name, content),
      LATERAL (VALUES ('labels', label.name), ('labels.' || label.name, label.content)) AS each(list, value)
    WHERE d.list IS NULL AND label.content <> ''
$$;

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
  INSERT INTO machine_value_deltas (rack, labels, provider, customer, site, pool, machines)
  SELECT ingot_rack(spec, labels), labels, spec ->> 'provider', nullif(spec ->> 'customer_id', ''),
    nullif((spec -> 'location') ->> 'site', ''), pool, sign
  FROM changed WHERE service IS DISTINCT FROM 'deleted';
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION ingot_count_moved_machine() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO machine_value_deltas (rack, labels, provider, customer, site, pool, machines)
  SELECT rack, labels, provider, customer, site, pool, sum(machines) FROM (
    SELECT ingot_rack(OLD.spec, OLD.labels) AS rack, OLD.labels, OLD.spec ->> 'provider' AS provider,
      nullif(OLD.spec ->> 'customer_id', '') AS customer, nullif((OLD.spec -> 'location') ->> 'site', '') AS site, OLD.pool, -1 AS machines
    WHERE OLD.service IS DISTINCT FROM 'deleted'
    UNION ALL
    SELECT ingot_rack(NEW.spec, NEW.labels), NEW.labels, NEW.spec ->> 'provider',
      nullif(NEW.spec ->> 'customer_id', ''), nullif((NEW.spec -> 'location') ->> 'site', ''), NEW.pool, 1
    WHERE NEW.service IS DISTINCT FROM 'deleted') AS both_versions
  GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(machines) <> 0;
  RETURN NULL;
END
$$;

-- Two triggers, so that what an operation writes is not compared with labels and specs.
DROP TRIGGER machines_moved ON machines;
CREATE TRIGGER machines_moved AFTER UPDATE OF spec, labels, pool ON machines
FOR EACH ROW WHEN (OLD.spec IS DISTINCT FROM NEW.spec OR OLD.labels IS DISTINCT FROM NEW.labels OR OLD.pool IS DISTINCT FROM NEW.pool)
EXECUTE FUNCTION ingot_count_moved_machine();
CREATE TRIGGER machines_moved_out AFTER UPDATE OF service ON machines
FOR EACH ROW WHEN ((OLD.service IS NOT DISTINCT FROM 'deleted') <> (NEW.service IS NOT DISTINCT FROM 'deleted')
  AND OLD.spec IS NOT DISTINCT FROM NEW.spec AND OLD.labels IS NOT DISTINCT FROM NEW.labels AND OLD.pool IS NOT DISTINCT FROM NEW.pool)
EXECUTE FUNCTION ingot_count_moved_machine();

UPDATE machine_count_state SET complete = false WHERE EXISTS (SELECT FROM machines);
UPDATE machine_count_claim SET claimed_at = '-infinity' WHERE EXISTS (SELECT FROM machines);
