-- min_version: 0.1.0
-- What BMCs measure (src/reconcilers/sensor-reader.ts): when each machine is read next, what the last reading found, and what is known
-- of its log. A claim moves due_at, as machine_looks does it.
CREATE TABLE machine_sensors (
  machine_id text COLLATE "C" PRIMARY KEY REFERENCES machines,
  due_at timestamptz NOT NULL,
  -- The last reading that succeeded; null: none yet.
  read_at timestamptz,
  -- Why the last one failed, and since when readings fail; null: it did not.
  problem text,
  problem_since timestamptz,
  sensors jsonb NOT NULL DEFAULT '[]',
  components jsonb NOT NULL DEFAULT '[]',
  -- The names that the values of samples belong to, by their place. Names are added and never moved.
  layout text[] NOT NULL DEFAULT '{}',
  log_fingerprint text NOT NULL DEFAULT '',
  log_count integer NOT NULL DEFAULT 0,
  log_newest text NOT NULL DEFAULT '',
  -- Grows each time the log was cleared: ids of entries start again then.
  log_generation integer NOT NULL DEFAULT 0
);
CREATE INDEX machine_sensors_due ON machine_sensors (due_at);

-- Values over a day. There is a partition for each four hours of 28, used in turn: with the first sample of a partition it is emptied
-- of what is 28 hours old (src/store/hardware/sensor-samples.ts). A value is at the place of its name in machine_sensors.layout.
CREATE TABLE sensor_samples (
  slot smallint NOT NULL,
  machine_id text COLLATE "C" NOT NULL,
  at timestamptz NOT NULL,
  readings real[] NOT NULL
) PARTITION BY LIST (slot);
CREATE TABLE sensor_samples_0 PARTITION OF sensor_samples FOR VALUES IN (0);
CREATE TABLE sensor_samples_1 PARTITION OF sensor_samples FOR VALUES IN (1);
CREATE TABLE sensor_samples_2 PARTITION OF sensor_samples FOR VALUES IN (2);
CREATE TABLE sensor_samples_3 PARTITION OF sensor_samples FOR VALUES IN (3);
CREATE TABLE sensor_samples_4 PARTITION OF sensor_samples FOR VALUES IN (4);
CREATE TABLE sensor_samples_5 PARTITION OF sensor_samples FOR VALUES IN (5);
CREATE TABLE sensor_samples_6 PARTITION OF sensor_samples FOR VALUES IN (6);
CREATE INDEX sensor_samples_by_machine ON sensor_samples (machine_id, at);

-- Which four hours each partition has samples of. The first that moves it on empties the partition.
CREATE TABLE sensor_slots (
  slot smallint PRIMARY KEY,
  period bigint NOT NULL
);
INSERT INTO sensor_slots (slot, period) SELECT slot, -1 FROM generate_series(0, 6) AS slot;

-- Entries of the logs that BMCs keep, each once; at most 1,000 of a machine.
CREATE TABLE hardware_log (
  entry_number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  machine_id text COLLATE "C" NOT NULL REFERENCES machines,
  generation integer NOT NULL,
  entry_key text COLLATE "C" NOT NULL,
  entry_id text NOT NULL,
  -- As the BMC says it; null: it does not, or its clock was not set.
  at timestamptz,
  found_at timestamptz NOT NULL,
  -- When it counts as having happened; null: before the first reading, no one knows when.
  happened_at timestamptz,
  severity text NOT NULL,
  category text NOT NULL,
  sensor text NOT NULL,
  message text NOT NULL,
  UNIQUE (machine_id, generation, entry_key)
);
CREATE INDEX hardware_log_newest ON hardware_log (machine_id, entry_number DESC);
CREATE INDEX hardware_log_found ON hardware_log (found_at);
