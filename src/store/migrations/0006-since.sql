-- Since when a machine is in its effective state, its service state and its install state, for finding those that stay
-- too long (src/domain/dwell.ts).
ALTER TABLE machines
  ADD COLUMN effective_since timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN service_since timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN install_since timestamptz NOT NULL DEFAULT now();

-- Nobody knows better than this: they are as they are since they were last written, or longer.
UPDATE machines SET effective_since = updated_at, service_since = updated_at, install_since = updated_at;

-- A trigger, and not the statements that write machines: there are several of those, older replicas run some that know
-- nothing of these columns, and effective state is computed from columns that are written apart from each other. What
-- one of them forgot would be a time that looks true and is not. The function is called only when something changed.
CREATE FUNCTION ingot_machine_since() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF ingot_effective_state(NEW.phase, NEW.conditions, NEW.active_operation_id)
      IS DISTINCT FROM ingot_effective_state(OLD.phase, OLD.conditions, OLD.active_operation_id) THEN
    NEW.effective_since := now();
  END IF;
  IF NEW.service IS DISTINCT FROM OLD.service THEN
    NEW.service_since := now();
  END IF;
  IF NEW.install IS DISTINCT FROM OLD.install THEN
    NEW.install_since := now();
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER machines_since BEFORE UPDATE OF phase, conditions, active_operation_id, service, install ON machines
FOR EACH ROW WHEN (
  OLD.phase IS DISTINCT FROM NEW.phase
  OR OLD.conditions IS DISTINCT FROM NEW.conditions
  OR OLD.active_operation_id IS DISTINCT FROM NEW.active_operation_id
  OR OLD.service IS DISTINCT FROM NEW.service
  OR OLD.install IS DISTINCT FROM NEW.install
) EXECUTE FUNCTION ingot_machine_since();

-- What ended lately, however long the history is.
CREATE INDEX operations_by_finish ON operations (finished_at) INCLUDE (status) WHERE finished_at IS NOT NULL;

-- The rare kinds of events: whoever asks for them should not read through all the steps in between.
CREATE INDEX events_by_kind ON events (kind, event_id DESC) WHERE kind NOT IN ('operation', 'step', 'progress');
