-- min_version: 0.1.0
-- The GPUs of a machine by model, as its agent reports them: [{"model": "NVIDIA H100 80GB HBM3", "count": 8}].
ALTER TABLE agents ADD COLUMN gpus jsonb NOT NULL DEFAULT '[]';

-- Tokens that were taken back for good, with the machine. A token that is only replaced is not here: its agent may get the
-- new one at any time. The row also says where the agent's entry was: where presence is in another store, that is removed
-- after the commit, by whoever comes first, and stays due until it is done.
CREATE TABLE revoked_agents (
  token_hash bytea PRIMARY KEY,
  machine_id text COLLATE "C" NOT NULL REFERENCES machines,
  pool text NOT NULL,
  provider text NOT NULL,
  revoked_at timestamptz NOT NULL DEFAULT now(),
  entry_removed_at timestamptz
);
CREATE INDEX revoked_agents_with_entry ON revoked_agents (revoked_at) WHERE entry_removed_at IS NULL;
