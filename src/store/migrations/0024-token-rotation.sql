-- min_version: 0.1.0
-- A rotated token keeps its name; its former secret stays valid until previous_expires_at. When and from where a token was
-- used last is written every few seconds at most.
ALTER TABLE tokens ADD COLUMN previous_hash bytea;
ALTER TABLE tokens ADD COLUMN previous_expires_at timestamptz;
ALTER TABLE tokens ADD COLUMN rotated_at timestamptz;
ALTER TABLE tokens ADD COLUMN last_used_at timestamptz;
ALTER TABLE tokens ADD COLUMN last_used_from text NOT NULL DEFAULT '';
CREATE INDEX tokens_by_previous_hash ON tokens (previous_hash) WHERE previous_hash IS NOT NULL;

-- The token that an agent was handed and has not used yet; its first use makes it the agent's token.
ALTER TABLE agents ADD COLUMN next_token_hash bytea;
ALTER TABLE agents ADD COLUMN token_issued_at timestamptz NOT NULL DEFAULT now();
CREATE UNIQUE INDEX agents_by_next_token ON agents (next_token_hash) WHERE next_token_hash IS NOT NULL;
