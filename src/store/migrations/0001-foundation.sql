-- The states in the check constraints are those of src/domain; test/lifecycles-agree-with-sql.test.ts compares them.

-- The same function as src/domain/effective-state.ts, for indexes and filters; a test compares the two.
CREATE FUNCTION ingot_effective_state(phase text, conditions jsonb, active_operation_id text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN (conditions -> 'Retired' -> 'status') = 'true' OR (conditions -> 'RMA' -> 'status') = 'true' THEN 'BLOCKED'
    WHEN (conditions -> 'NeedsIntervention' -> 'status') = 'true' THEN 'ATTENTION'
    WHEN active_operation_id IS NOT NULL THEN 'BUSY'
    WHEN phase = 'FACTORY_READY' THEN 'NEW'
    WHEN phase = 'READY' THEN 'IDLE'
    ELSE 'MAINTENANCE'
  END
$$;

-- The same table as PHASE_OF_JOB in src/domain/job-status.ts; a test compares the two.
CREATE FUNCTION ingot_operation_phase(status text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE status
    WHEN 'pending' THEN 'PENDING'
    WHEN 'running' THEN 'RUNNING'
    WHEN 'compensating' THEN 'RUNNING'
    WHEN 'completed' THEN 'SUCCEEDED'
    WHEN 'reconciled' THEN 'SUCCEEDED'
    WHEN 'failed_retryable' THEN 'FAILED'
    WHEN 'failed_manual_intervention' THEN 'FAILED'
    WHEN 'cancelled' THEN 'CANCELED'
  END
$$;

CREATE TABLE machines (
  machine_id text COLLATE "C" PRIMARY KEY,
  labels jsonb NOT NULL,
  spec jsonb NOT NULL,
  phase text NOT NULL CHECK (phase IN ('FACTORY_READY', 'READY', 'MAINTENANCE')),
  service text CHECK (service IN ('bootstrap_issued', 'enrolling', 'active', 'offline', 'quarantined', 'draining',
    'retired', 'removing', 'deleted')),
  install text CHECK (install IN ('discovered', 'pending', 'installing', 'install_failed', 'installed', 'active',
    'reprovision', 'deprovisioning', 'migrating', 'retired')),
  presence text CHECK (presence IN ('pending', 'registered', 'ready', 'expired')),
  conditions jsonb NOT NULL DEFAULT '{}',
  active_operation_id text,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 80);

CREATE INDEX machines_by_effective_state
  ON machines ((ingot_effective_state(phase, conditions, active_operation_id)), machine_id);
CREATE INDEX machines_by_phase ON machines (phase, machine_id);
CREATE INDEX machines_by_label ON machines USING gin (labels jsonb_path_ops);
CREATE INDEX machines_by_provider ON machines ((spec ->> 'provider'), machine_id);

-- An operation and its lease. `due_at` is the one clock of a row: when it becomes claimable. A new row is due
-- at once, a waiting one at its wake-up time, a claimed one when its lease runs out.
CREATE TABLE operations (
  operation_id text COLLATE "C" PRIMARY KEY,
  machine_id text COLLATE "C" NOT NULL REFERENCES machines,
  request_id text NOT NULL,
  request_fingerprint text NOT NULL,
  type text NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'running', 'compensating', 'completed', 'reconciled',
    'failed_retryable', 'failed_manual_intervention', 'cancelled')),
  plan_id text NOT NULL DEFAULT '',
  -- What an ending does to the machine: a name in src/domain/contract.ts.
  contract text NOT NULL,
  params jsonb NOT NULL,
  steps jsonb NOT NULL,
  current integer NOT NULL DEFAULT 0,
  error jsonb,
  waiting_for text NOT NULL DEFAULT '',
  started_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  finished_at timestamptz,
  owner text,
  epoch bigint NOT NULL DEFAULT 0,
  due_at timestamptz NOT NULL DEFAULT now(),
  -- Counts what the operation may be waiting for; a wait that missed one is due at once.
  signals integer NOT NULL DEFAULT 0,
  -- Holders that died in the current step.
  deaths integer NOT NULL DEFAULT 0,
  cancel_requested boolean NOT NULL DEFAULT false,
  cancel_actor_kind text,
  cancel_actor_id text,
  cancel_reason text NOT NULL DEFAULT '',
  log_bytes integer NOT NULL DEFAULT 0,
  UNIQUE (machine_id, request_id)
) WITH (fillfactor = 70);

CREATE UNIQUE INDEX one_active_operation_per_machine ON operations (machine_id)
  WHERE status IN ('pending', 'running', 'compensating');
CREATE INDEX operations_due ON operations (due_at) WHERE status IN ('pending', 'running', 'compensating');
CREATE INDEX operations_by_machine ON operations (machine_id, operation_id DESC);
CREATE INDEX operations_by_phase ON operations (ingot_operation_phase(status), operation_id DESC);

-- One log for every transition of every layer. Whoever writes events holds a lock from before the first event_id
-- until the commit (see src/store/append-events.ts), so event_id is the order of commits. `xid` tells which rows
-- were written by one transaction.
CREATE TABLE events (
  event_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  kind text NOT NULL CHECK (kind IN ('machine', 'phase', 'service', 'install', 'presence', 'observed', 'condition',
    'operation', 'step', 'progress', 'token')),
  subject text NOT NULL,
  from_state text NOT NULL,
  to_state text NOT NULL,
  actor_kind text NOT NULL CHECK (actor_kind IN ('admin', 'system', 'node_report', 'agent', 'operator')),
  actor_id text NOT NULL,
  comment text NOT NULL,
  metadata jsonb NOT NULL,
  machine_id text COLLATE "C",
  operation_id text COLLATE "C",
  snapshot jsonb
);
CREATE INDEX events_by_machine ON events (machine_id, event_id DESC) WHERE machine_id IS NOT NULL;
CREATE INDEX events_by_operation ON events (operation_id, event_id) WHERE operation_id IS NOT NULL;

-- (epoch, line) orders the lines of one operation: only the holder of an epoch writes lines of that epoch.
CREATE TABLE operation_logs (
  operation_id text COLLATE "C" NOT NULL REFERENCES operations ON DELETE CASCADE,
  epoch bigint NOT NULL,
  line integer NOT NULL,
  at timestamptz NOT NULL,
  stream text NOT NULL CHECK (stream IN ('stdout', 'stderr')),
  step text NOT NULL,
  text text NOT NULL,
  PRIMARY KEY (operation_id, epoch, line)
);

CREATE TABLE tokens (
  token_hash bytea PRIMARY KEY,
  name text NOT NULL,
  role text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  revoked_at timestamptz
);
CREATE UNIQUE INDEX one_live_token_per_name ON tokens (name) WHERE revoked_at IS NULL;

-- The world of the fake provider: machines that exist only here.
CREATE TABLE fake_machines (
  machine_id text COLLATE "C" PRIMARY KEY,
  state jsonb NOT NULL
) WITH (fillfactor = 70);
