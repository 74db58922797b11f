-- min_version: 0.1.0
-- The few machines of many that may need attention: the first term of the filter needs_attention
-- (src/store/machines/headline-column.ts), which must have the very same text.
CREATE INDEX machines_troubled ON machines (machine_id) WHERE
  coalesce((conditions -> 'RMA' -> 'status') = 'true', false)
  OR coalesce((conditions -> 'NeedsIntervention' -> 'status') = 'true', false)
  OR coalesce((conditions -> 'Degraded' -> 'status') = 'true', false)
  OR coalesce((conditions -> 'Reachable' -> 'status') = 'false', false)
  OR coalesce(install = 'install_failed', false)
  OR coalesce(presence = 'expired', false)
  OR coalesce(service IN ('quarantined', 'offline', 'removing'), false)
  OR coalesce(phase = 'MAINTENANCE', false)
  OR coalesce((observed ->> 'state') <> 'Deployed', false);
