-- min_version: 0.1.0
-- Machines that may need attention (src/store/machines/headline-column.ts). Of those in maintenance only the ones whose maintenance has an end
-- do: every overview read all the others too, which are as many as the fleet is large.
CREATE INDEX machines_in_trouble ON machines (machine_id) WHERE
  coalesce((conditions -> 'RMA' -> 'status') = 'true', false)
  OR coalesce((conditions -> 'NeedsIntervention' -> 'status') = 'true', false)
  OR coalesce((conditions -> 'Degraded' -> 'status') = 'true', false)
  OR coalesce((conditions -> 'Reachable' -> 'status') = 'false', false)
  OR coalesce(install = 'install_failed', false)
  OR coalesce(presence = 'expired', false)
  OR coalesce(service IN ('quarantined', 'offline', 'removing'), false)
  OR coalesce(phase = 'MAINTENANCE' AND (maintenance ->> 'until') IS NOT NULL, false)
  OR coalesce((observed ->> 'state') <> 'Deployed', false);
DROP INDEX machines_troubled;
