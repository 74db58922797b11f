-- min_version: 0.1.0
-- What lists of machines are filtered and counted by (src/domain/hardware/hardware-summary.ts). Null: nothing is known yet.
ALTER TABLE machines ADD COLUMN hardware jsonb;

-- The version that each source's last inventory is, and the work that reported it: a step finds its own by the key.
ALTER TABLE hardware_inventories ADD COLUMN version integer NOT NULL DEFAULT 1;
ALTER TABLE hardware_inventories ADD COLUMN reported_key text NOT NULL DEFAULT '';

-- Each version of what a source reports of a machine's hardware: what differs from the one before, when and by whom it was found.
CREATE TABLE hardware_versions (
  machine_id text COLLATE "C" NOT NULL REFERENCES machines,
  source text COLLATE "C" NOT NULL,
  version integer NOT NULL,
  inventory jsonb NOT NULL,
  changes text[] NOT NULL,
  found_at timestamptz NOT NULL,
  found_by text NOT NULL,
  operation_id text,
  PRIMARY KEY (machine_id, source, version)
);
CREATE INDEX hardware_versions_newest ON hardware_versions (found_at DESC, machine_id DESC, source DESC, version DESC);

INSERT INTO hardware_versions (machine_id, source, version, inventory, changes, found_at, found_by, operation_id)
SELECT machine_id, source, 1, inventory, '{}', changed_at, '', NULL FROM hardware_inventories;

-- Hardware has events. Whatever other kinds there are stay.
DO $$
DECLARE
  kinds text := (SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint WHERE conname = 'events_kind_check');
BEGIN
  ALTER TABLE events DROP CONSTRAINT events_kind_check;
  EXECUTE format('ALTER TABLE events ADD CONSTRAINT events_kind_check CHECK (kind = ''hardware'' OR %s) NOT VALID', kinds);
END
$$;
