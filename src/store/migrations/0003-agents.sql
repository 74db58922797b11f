-- Worker pools. Those named in the configuration are put here when a server starts.
CREATE TABLE pools (
  pool_name text COLLATE "C" PRIMARY KEY,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

ALTER TABLE machines ADD COLUMN pool text COLLATE "C";
CREATE INDEX machines_by_pool ON machines (pool, presence, machine_id) WHERE pool IS NOT NULL;

-- Agents and what each said of its machine when it registered. The token of an agent opens this one machine's two
-- calls; only its hash is kept. It expires unless it is used in time.
CREATE TABLE agents (
  machine_id text COLLATE "C" PRIMARY KEY REFERENCES machines,
  token_hash bytea NOT NULL UNIQUE,
  token_expires_at timestamptz,
  hostname text NOT NULL DEFAULT '',
  cpu_millicores bigint NOT NULL DEFAULT 0,
  memory_bytes bigint NOT NULL DEFAULT 0,
  gpu_count integer NOT NULL DEFAULT 0,
  private_ip text NOT NULL DEFAULT '',
  created_at timestamptz NOT NULL DEFAULT now(),
  registered_at timestamptz
);

-- What is rewritten with every keepalive, apart from everything else. `check_at` is when somebody must look whether
-- the agent is still alive: never later than `expires_at`, and moved only by every few keepalives, because it is
-- indexed and the others are not. Where keepalives live elsewhere, this row keeps status and check_at only.
CREATE TABLE agent_presence (
  machine_id text COLLATE "C" PRIMARY KEY REFERENCES agents,
  pool text NOT NULL,
  provider text NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'registered', 'ready', 'expired')),
  check_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  last_keepalive_at timestamptz,
  agent_version text NOT NULL DEFAULT '',
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
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
CREATE INDEX agent_presence_to_check ON agent_presence (check_at) WHERE status <> 'expired';

-- When agents were last watched, and until when nobody is declared lost because nobody was listening before.
CREATE TABLE presence_watch (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  watched_at timestamptz NOT NULL,
  lenient_until timestamptz NOT NULL DEFAULT '-infinity'
);
