-- min_version: 0.1.0
-- The newest machine of each headline that asks for attention and that no condition names: an overview shows one as an example.

-- A text that sorts by headline and by since when: the times of one headline have one form. Null: no headline of these. The same rules as
-- src/domain/machine/headline.ts, but for the end of a maintenance, which is a matter of time and has an index of its own;
-- test/headline-agrees-with-sql.test.ts compares the two. PL/pgSQL, so that the planner does not unfold them in every plan. It calls no other
-- function of ours: a VACUUM finds none.
CREATE FUNCTION ingot_headline_since(phase text, service text, install text, presence text, active_operation_id text, conditions jsonb,
  observed jsonb, install_since timestamptz, service_since timestamptz) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  -- Of MAAS: the states that fit the service state.
  differs boolean := coalesce(observed ->> 'upstreamId', '') <> '' AND observed -> 'accepted' IS NULL AND CASE
    WHEN service = 'enrolling' THEN observed ->> 'state' NOT IN (
      'New', 'Commissioning', 'Testing', 'Ready', 'Allocated', 'Reserved', 'Deploying', 'Deployed')
    WHEN service IN ('active', 'offline', 'quarantined') THEN observed ->> 'state' <> 'Deployed'
    WHEN service IN ('draining', 'retired') THEN observed ->> 'state' NOT IN ('Deployed', 'Ready', 'Releasing', 'Disk erasing')
    WHEN service = 'removing' THEN observed ->> 'state' NOT IN ('Ready', 'Releasing', 'Disk erasing', 'absent')
    ELSE false
  END;
  is_out_on_purpose boolean := phase = 'MAINTENANCE' OR coalesce(service IN ('retired', 'removing'), false);
  in_service_since text := to_char(service_since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
BEGIN
  RETURN CASE
    WHEN active_operation_id IS NOT NULL OR service = 'deleted'
      OR (conditions -> 'Retired' -> 'status') = 'true' OR (conditions -> 'RMA' -> 'status') = 'true'
      OR (conditions -> 'NeedsIntervention' -> 'status') = 'true' THEN NULL
    WHEN install = 'install_failed'
      THEN 'install_failed ' || to_char(install_since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    WHEN differs THEN 'drift ' || coalesce(observed ->> 'at', '')
    WHEN service = 'quarantined' THEN 'quarantined ' || in_service_since
    WHEN is_out_on_purpose THEN NULL
    WHEN presence = 'expired' AND service IN ('enrolling', 'active', 'offline', 'draining') THEN 'agent_lost ' || in_service_since
    WHEN presence = 'expired' THEN 'never_registered ' || in_service_since
    WHEN service = 'offline' THEN 'offline ' || in_service_since
    WHEN (conditions -> 'Degraded' -> 'status') = 'true'
      THEN 'degraded ' || coalesce(conditions -> 'Degraded' ->> 'lastTransition', '')
    WHEN (conditions -> 'Reachable' -> 'status') = 'false'
      THEN 'unreachable ' || coalesce(conditions -> 'Reachable' ->> 'lastTransition', '')
  END;
END
$$;

-- The terms of src/store/machines/count-headlines.ts, which must have the very same text.
CREATE INDEX machines_by_headline ON machines ((ingot_headline_since(phase, service, install, presence, active_operation_id,
  conditions, observed, install_since, service_since) COLLATE "C") DESC, machine_id)
  WHERE active_operation_id IS NULL AND ((conditions -> 'Degraded' -> 'status') = 'true'
    OR (conditions -> 'Reachable' -> 'status') = 'false' OR install = 'install_failed' OR presence = 'expired'
    OR service IN ('quarantined', 'offline', 'removing') OR (observed ->> 'state') <> 'Deployed');
