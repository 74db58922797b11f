-- min_version: 0.1.0
-- When a machine first came into service, and the type of its active operation: from these and its state follows whether it
-- is unavailable (src/domain/machine/availability.ts).
ALTER TABLE machines
  ADD COLUMN entered_service_at timestamptz,
  ADD COLUMN active_operation_type text;

-- A trigger, and not the statements that write machines: there are several of those, and older replicas run some that don't
-- know these columns.
CREATE FUNCTION ingot_machine_availability() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.entered_service_at IS NULL AND (NEW.phase = 'READY' OR NEW.service = 'active') THEN
    NEW.entered_service_at := now();
  END IF;
  IF NEW.active_operation_id IS NULL THEN
    NEW.active_operation_type := NULL;
  ELSE
    NEW.active_operation_type := (SELECT type FROM operations WHERE operation_id = NEW.active_operation_id);
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER machines_availability_of_new BEFORE INSERT ON machines
FOR EACH ROW WHEN (NEW.phase = 'READY' OR NEW.service = 'active' OR NEW.active_operation_id IS NOT NULL)
EXECUTE FUNCTION ingot_machine_availability();

CREATE TRIGGER machines_availability BEFORE UPDATE OF phase, service, active_operation_id ON machines
FOR EACH ROW WHEN (
  OLD.active_operation_id IS DISTINCT FROM NEW.active_operation_id
  OR (OLD.entered_service_at IS NULL AND (NEW.phase = 'READY' OR NEW.service = 'active'))
) EXECUTE FUNCTION ingot_machine_availability();

-- The event log knows the time of those that were in service. Where it does not, the last write is the best that is known.
WITH entered AS (
  SELECT machine_id, min(at) AS at FROM events
  WHERE (kind = 'phase' AND to_state = 'READY') OR (kind = 'service' AND to_state = 'active') GROUP BY machine_id)
UPDATE machines m SET entered_service_at = coalesce(e.at, m.updated_at)
FROM machines n LEFT JOIN entered e USING (machine_id)
WHERE m.machine_id = n.machine_id
  AND (e.at IS NOT NULL OR n.phase = 'READY' OR n.service IN ('active', 'offline', 'draining'));
UPDATE machines m SET active_operation_type = o.type FROM operations o WHERE o.operation_id = m.active_operation_id;

-- The same rules as src/domain/machine/availability.ts, with the table of src/domain/operation/disruption.ts; a test compares
-- them.
CREATE FUNCTION ingot_unavailable_reason(
  phase text, service text, presence text, conditions jsonb, active_operation_type text, entered_service_at timestamptz
) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN entered_service_at IS NULL THEN NULL
    WHEN service IN ('retired', 'removing', 'deleted') AND NOT coalesce(active_operation_type IN ('REBOOT', 'REIMAGE',
      'ENTER_MAINTENANCE', 'RMA', 'UPGRADE', 'NET_RECONFIG', 'DECOMMISSION', 'DRAIN', 'REMOVE', 'ERASE', 'MIGRATE'), false)
      THEN NULL
    WHEN (conditions -> 'Retired' -> 'status') = 'true' THEN 'flagged_retired'
    WHEN (conditions -> 'RMA' -> 'status') = 'true' THEN 'flagged_rma'
    WHEN (conditions -> 'NeedsIntervention' -> 'status') = 'true' THEN 'needs_intervention'
    WHEN service = 'quarantined' THEN 'quarantined'
    WHEN service = 'draining' THEN 'draining'
    WHEN phase = 'MAINTENANCE' THEN 'maintenance'
    WHEN active_operation_type IN ('REBOOT', 'REIMAGE', 'ENTER_MAINTENANCE', 'RMA', 'UPGRADE', 'NET_RECONFIG',
      'DECOMMISSION', 'DRAIN', 'REMOVE', 'ERASE', 'MIGRATE') THEN 'operation'
    WHEN presence = 'expired' THEN 'agent_lost'
    WHEN service = 'offline' THEN 'offline'
  END
$$;

-- What budgets and limits count: few machines of many.
CREATE INDEX machines_unavailable ON machines (machine_id) WHERE ingot_unavailable_reason(
  phase, service, presence, conditions, active_operation_type, entered_service_at) IS NOT NULL;

-- Disruption budgets that the API created (src/domain/budget/budget.ts); those of the configuration are not stored. `filter`
-- and `scope` are as they were written: a budget counts the machines that both contain.
CREATE TABLE budgets (
  budget_name text COLLATE "C" PRIMARY KEY,
  filter text NOT NULL,
  group_by text NOT NULL,
  max_unavailable text NOT NULL,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  scope text NOT NULL DEFAULT '',
  scope_terms text[] NOT NULL DEFAULT '{}'
);

-- Changes with every change of a budget. A start reads the number beside what it reads anyway, and the budgets only when it
-- has changed.
CREATE TABLE budget_version (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  version bigint NOT NULL
);
INSERT INTO budget_version (version) VALUES (0);

CREATE FUNCTION ingot_budgets_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE budget_version SET version = version + 1;
  RETURN NULL;
END
$$;
CREATE TRIGGER budgets_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON budgets
FOR EACH STATEMENT EXECUTE FUNCTION ingot_budgets_changed();

-- The rollout that started an operation.
ALTER TABLE operations ADD COLUMN IF NOT EXISTS rollout_id text COLLATE "C";

-- Budgets have events. Whatever other kinds there are stay; the check holds for new rows, and those before satisfied a
-- narrower one.
DO $$
DECLARE
  kinds text := (SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint WHERE conname = 'events_kind_check');
BEGIN
  ALTER TABLE events DROP CONSTRAINT events_kind_check;
  EXECUTE format('ALTER TABLE events ADD CONSTRAINT events_kind_check CHECK (kind = ''budget'' OR %s) NOT VALID', kinds);
END
$$;
