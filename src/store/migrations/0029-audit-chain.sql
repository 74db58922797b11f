-- min_version: 0.1.0
-- The hash chain over the event log (src/audit/chain.ts). Rows are only ever added. Leaves are hashes, which no compression makes
-- smaller.
CREATE TABLE audit_blocks (
  block_no bigint PRIMARY KEY,
  first_event_id bigint NOT NULL,
  last_event_id bigint NOT NULL,
  events integer NOT NULL,
  first_at timestamptz NOT NULL,
  last_at timestamptz NOT NULL,
  previous_hash text NOT NULL,
  root text NOT NULL,
  sealed_at timestamptz NOT NULL,
  hash text NOT NULL,
  leaves bytea NOT NULL
);
ALTER TABLE audit_blocks ALTER COLUMN leaves SET STORAGE EXTERNAL;

CREATE TABLE audit_checkpoints (
  block_no bigint PRIMARY KEY,
  hash text NOT NULL,
  events bigint NOT NULL,
  signed_at timestamptz NOT NULL,
  key_id text NOT NULL,
  signature text NOT NULL
);

CREATE TABLE audit_keys (
  key_no integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key_id text NOT NULL UNIQUE,
  public_key text NOT NULL,
  previous_key_id text NOT NULL,
  signature text NOT NULL,
  introduced_at timestamptz NOT NULL
);
