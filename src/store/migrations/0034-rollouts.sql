-- min_version: 0.1.0
-- Rollouts: many machines changed as one durable object (docs/rollouts.md, src/store/rollouts/).
CREATE TABLE rollouts (
  rollout_id text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  spec jsonb NOT NULL,
  state text NOT NULL,
  reason text NOT NULL DEFAULT '',
  waiting_for text NOT NULL DEFAULT '',
  -- Failures since the last resume or retry, for the stop rules.
  tally jsonb NOT NULL,
  -- What is under way is canceled.
  cancel_running boolean NOT NULL DEFAULT false,
  -- On whose behalf its operations start.
  actor jsonb NOT NULL,
  created_by text NOT NULL,
  scope text NOT NULL DEFAULT '',
  scope_terms text[] NOT NULL DEFAULT '{}',
  request_id text NOT NULL,
  request_fingerprint text NOT NULL,
  rolls_back text COLLATE "C" NOT NULL DEFAULT '',
  -- The replica that executes it. Every claim and every act of a person adds one to the epoch, and a start names the epoch
  -- that its decision was made with.
  owner text,
  epoch bigint NOT NULL DEFAULT 0,
  lease_until timestamptz NOT NULL DEFAULT now(),
  revision bigint NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  finished_at timestamptz
) WITH (fillfactor = 50);

CREATE UNIQUE INDEX rollouts_by_request ON rollouts (created_by, request_id);
CREATE INDEX rollouts_open ON rollouts (rollout_id) WHERE finished_at IS NULL;
CREATE INDEX rollouts_rolling_back ON rollouts (rolls_back) WHERE rolls_back <> '';

-- Wave 0 is made of the machines that are not eligible. The counts change in the transactions that change the machines.
CREATE TABLE rollout_waves (
  rollout_id text COLLATE "C" NOT NULL,
  number integer NOT NULL,
  name text NOT NULL,
  state text NOT NULL,
  gate text NOT NULL,
  approval_rule text NOT NULL DEFAULT '',
  approver_role text NOT NULL DEFAULT 'operator',
  approved_by text NOT NULL DEFAULT '',
  approved_at timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  soaks_until timestamptz,
  pending integer NOT NULL DEFAULT 0,
  running integer NOT NULL DEFAULT 0,
  succeeded integer NOT NULL DEFAULT 0,
  failed integer NOT NULL DEFAULT 0,
  skipped integer NOT NULL DEFAULT 0,
  canceled integer NOT NULL DEFAULT 0,
  ineligible integer NOT NULL DEFAULT 0,
  PRIMARY KEY (rollout_id, number)
) WITH (fillfactor = 50);

CREATE TABLE rollout_machines (
  rollout_id text COLLATE "C" NOT NULL,
  machine_id text COLLATE "C" NOT NULL,
  -- The order of the turns.
  position integer NOT NULL,
  wave integer NOT NULL,
  state text NOT NULL,
  step integer NOT NULL DEFAULT 0,
  attempt integer NOT NULL DEFAULT 1,
  -- The operation of the step that it is at.
  operation_id text COLLATE "C",
  operation_ids text[] NOT NULL DEFAULT '{}',
  error_code text NOT NULL DEFAULT '',
  message text NOT NULL DEFAULT '',
  -- Its values of the fields that limits group by.
  groups text[] NOT NULL DEFAULT '{}',
  -- Parameters of its own, such as the image to go back to.
  params jsonb NOT NULL DEFAULT '{}',
  -- The spec that was seen when it was added.
  spec_seen jsonb NOT NULL DEFAULT '{}',
  -- A start that was put off is not tried again before.
  not_before timestamptz,
  step_since timestamptz,
  matches_since timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  -- The rollout's revision with which it last changed.
  revision bigint NOT NULL,
  PRIMARY KEY (rollout_id, machine_id)
);

CREATE UNIQUE INDEX rollout_machines_by_turn ON rollout_machines (rollout_id, position);
CREATE INDEX rollout_machines_by_state ON rollout_machines (rollout_id, wave, state, position);
CREATE INDEX rollout_machines_by_revision ON rollout_machines (rollout_id, revision);
CREATE INDEX rollout_machines_of_machine ON rollout_machines (machine_id);

CREATE TABLE rollout_actions (
  action_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  rollout_id text COLLATE "C" NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  action text NOT NULL,
  done_by text NOT NULL,
  reason text NOT NULL,
  detail text NOT NULL DEFAULT '',
  request_id text NOT NULL,
  request_fingerprint text NOT NULL
);

CREATE UNIQUE INDEX rollout_actions_by_request ON rollout_actions (rollout_id, done_by, request_id);

ALTER TABLE operations ADD COLUMN IF NOT EXISTS rollout_id text COLLATE "C";
CREATE INDEX operations_of_rollout ON operations (rollout_id, operation_id) WHERE rollout_id IS NOT NULL;

-- Rollouts have events. Whatever other kinds there are stay.
DO $$
DECLARE
  kinds text := (SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint WHERE conname = 'events_kind_check');
BEGIN
  ALTER TABLE events DROP CONSTRAINT events_kind_check;
  EXECUTE format('ALTER TABLE events ADD CONSTRAINT events_kind_check CHECK (kind = ''rollout'' OR %s) NOT VALID', kinds);
END
$$;
