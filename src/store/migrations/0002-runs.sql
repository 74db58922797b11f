-- Document 1's view of a machine, for filters; the same functions as src/domain/v1-phase.ts, and a test compares them.
CREATE FUNCTION ingot_v1_phase(phase text, conditions jsonb, active_operation_id text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN (conditions -> 'Retired' -> 'status') = 'true' THEN 'RETIRED'
    WHEN (conditions -> 'RMA' -> 'status') = 'true' THEN 'RMA'
    WHEN active_operation_id IS NOT NULL THEN 'PROVISIONING'
    WHEN phase = 'READY' AND (conditions -> 'InCustomerCluster' -> 'status') = 'true' THEN 'IN_SERVICE'
    ELSE phase
  END
$$;

CREATE FUNCTION ingot_v1_effective_state(phase text, conditions jsonb, active_operation_id text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN active_operation_id IS NOT NULL THEN 'PROVISIONING'
    WHEN (conditions -> 'Retired' -> 'status') = 'true' THEN 'RETIRED'
    WHEN (conditions -> 'RMA' -> 'status') = 'true' THEN 'RMA'
    WHEN phase = 'MAINTENANCE' THEN 'MAINTENANCE'
    WHEN (conditions -> 'InCustomerCluster' -> 'status') = 'true' THEN 'IN_SERVICE'
    ELSE phase
  END
$$;

CREATE INDEX machines_by_v1_phase ON machines ((ingot_v1_phase(phase, conditions, active_operation_id)), machine_id);

CREATE TABLE plans (
  plan_id text COLLATE "C" PRIMARY KEY,
  display_name text NOT NULL,
  steps jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by text NOT NULL
);

-- Whether a plan has been referenced, and by what.
CREATE INDEX operations_by_plan ON operations (plan_id, operation_id DESC) WHERE plan_id <> '';

-- When each machine is looked at next by the condition reconciler, and how many looks in a row found its host and its
-- BMC silent (src/store/machine-looks.ts). A look is claimed by moving the time on to the look after it, so one replica
-- at a time has a machine. A new row has no time yet: it is as late as can be, and is given one with the late ones.
CREATE TABLE machine_looks (
  machine_id text COLLATE "C" PRIMARY KEY REFERENCES machines ON DELETE CASCADE,
  due_at timestamptz NOT NULL DEFAULT '-infinity',
  host_misses smallint NOT NULL DEFAULT 0,
  bmc_misses smallint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);
CREATE INDEX machine_looks_due ON machine_looks (due_at);
