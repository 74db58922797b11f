-- min_version: 0.1.0
-- Burn-ins of machines (src/domain/hardware/burn-in.ts), one for each operation: ordered, reported by the machine's installer, and kept.
CREATE TABLE burn_ins (
  machine_id text COLLATE "C" NOT NULL,
  operation_id text COLLATE "C" NOT NULL,
  key text NOT NULL,
  tests text[] NOT NULL,
  seconds integer NOT NULL,
  state text NOT NULL CONSTRAINT burn_ins_state CHECK (state IN ('ordered', 'running', 'passed', 'failed')),
  percent integer NOT NULL DEFAULT 0,
  results jsonb NOT NULL DEFAULT '[]',
  error text NOT NULL DEFAULT '',
  ordered_at timestamptz NOT NULL,
  sent_at timestamptz,
  seen_at timestamptz,
  ended_at timestamptz,
  -- Of the boot that may report: given out with its script, to this address.
  token_hash bytea,
  token_address text NOT NULL DEFAULT '',
  PRIMARY KEY (machine_id, operation_id)
);

CREATE INDEX burn_ins_open ON burn_ins (machine_id) WHERE state IN ('ordered', 'running');
CREATE UNIQUE INDEX burn_ins_token ON burn_ins (token_hash) WHERE token_hash IS NOT NULL;
