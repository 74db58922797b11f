-- min_version: 0.1.0
-- What an overview of a fleet asks about time and about single machines, each as a range of an index.

-- Machines in states that have a time limit (src/domain/machine/state-time-limit.ts), by since when.
CREATE INDEX machines_effective_since ON machines
  ((ingot_effective_state(phase, conditions, active_operation_id)), effective_since)
  WHERE service IS DISTINCT FROM 'deleted'
    AND ingot_effective_state(phase, conditions, active_operation_id) IN ('NEW', 'BUSY', 'MAINTENANCE', 'ATTENTION');
CREATE INDEX machines_service_since ON machines (service, service_since)
  WHERE service IN ('bootstrap_issued', 'enrolling', 'offline', 'quarantined', 'draining', 'removing');
CREATE INDEX machines_install_since ON machines (install, install_since)
  WHERE service IS DISTINCT FROM 'deleted' AND install IN ('discovered', 'pending', 'installing', 'install_failed',
    'installed', 'reprovision', 'deprovisioning', 'migrating');

-- The newest machine with a reason that needs attention (src/store/filter/machine-columns.ts has the same expressions).
CREATE INDEX machines_by_attention ON machines (
  (CASE WHEN (conditions -> 'Retired' -> 'status') = 'true' THEN 'Retired'
    WHEN (conditions -> 'RMA' -> 'status') = 'true' THEN 'RMA'
    WHEN (conditions -> 'NeedsIntervention' -> 'status') = 'true' THEN 'NeedsIntervention' END),
  (coalesce(conditions -> (CASE WHEN (conditions -> 'Retired' -> 'status') = 'true' THEN 'Retired'
    WHEN (conditions -> 'RMA' -> 'status') = 'true' THEN 'RMA'
    WHEN (conditions -> 'NeedsIntervention' -> 'status') = 'true' THEN 'NeedsIntervention' END) ->> 'reason', '')),
  ((conditions -> (CASE WHEN (conditions -> 'Retired' -> 'status') = 'true' THEN 'Retired'
    WHEN (conditions -> 'RMA' -> 'status') = 'true' THEN 'RMA'
    WHEN (conditions -> 'NeedsIntervention' -> 'status') = 'true' THEN 'NeedsIntervention' END) ->> 'lastTransition')
    COLLATE "C") DESC,
  machine_id)
  WHERE ingot_effective_state(phase, conditions, active_operation_id) IN ('ATTENTION', 'BLOCKED')
    AND service IS DISTINCT FROM 'deleted';

-- Maintenance that has an end, which is a text that sorts as its time does.
CREATE INDEX machines_ending_maintenance ON machines (((maintenance ->> 'until') COLLATE "C"))
  WHERE phase = 'MAINTENANCE' AND (maintenance ->> 'until') IS NOT NULL;
