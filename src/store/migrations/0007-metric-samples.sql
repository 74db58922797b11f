-- What agents told of their machines, sampled every few minutes and shown for six hours (src/store/metric-samples.ts).
-- There is a partition for each hour of seven, used in turn: with the first sample of an hour its partition is emptied
-- of what is seven hours old. Rows are never deleted one by one, so nothing bloats and nothing waits for vacuum.
CREATE TABLE metric_samples (
  slot smallint NOT NULL,
  machine_id text COLLATE "C" NOT NULL,
  at timestamptz NOT NULL,
  cpu_utilization_pct double precision,
  memory_utilization_pct double precision,
  total_cpu_available double precision,
  total_memory_available double precision,
  free_gpu_count double precision,
  total_disk_space_bytes double precision,
  total_disk_free_bytes double precision,
  worker_count double precision,
  container_count double precision,
  cache_usage_pct double precision,
  cache_capacity double precision
) PARTITION BY LIST (slot);

CREATE TABLE metric_samples_0 PARTITION OF metric_samples FOR VALUES IN (0);
CREATE TABLE metric_samples_1 PARTITION OF metric_samples FOR VALUES IN (1);
CREATE TABLE metric_samples_2 PARTITION OF metric_samples FOR VALUES IN (2);
CREATE TABLE metric_samples_3 PARTITION OF metric_samples FOR VALUES IN (3);
CREATE TABLE metric_samples_4 PARTITION OF metric_samples FOR VALUES IN (4);
CREATE TABLE metric_samples_5 PARTITION OF metric_samples FOR VALUES IN (5);
CREATE TABLE metric_samples_6 PARTITION OF metric_samples FOR VALUES IN (6);

CREATE INDEX metric_samples_by_machine ON metric_samples (machine_id);

-- When the last sample was taken, and the one before it. Whoever moves it on takes the sample.
CREATE TABLE metric_sampling (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  sampled_at timestamptz NOT NULL,
  previous_at timestamptz NOT NULL
);
INSERT INTO metric_sampling (sampled_at, previous_at) VALUES ('1970-01-01Z', '1970-01-01Z');
