-- min_version: 0.1.0
-- What a machine's hardware is, as one source has reported it last. Each source has a row of its own.
CREATE TABLE hardware_inventories (
  machine_id text COLLATE "C" NOT NULL REFERENCES machines,
  source text COLLATE "C" NOT NULL,
  inventory jsonb NOT NULL,
  reported_at timestamptz NOT NULL,
  -- Since when it has been what it is.
  changed_at timestamptz NOT NULL,
  PRIMARY KEY (machine_id, source)
);

-- Empty: stored before formats were recognised. The size of the disk is null where only unpacking says it.
ALTER TABLE images ADD COLUMN format text NOT NULL DEFAULT '';
ALTER TABLE images ADD COLUMN virtual_bytes bigint;
