-- min_version: 0.1.0
-- Certificates of agents are looked up by machine, also among the machines that were removed.
CREATE INDEX revoked_agents_by_machine ON revoked_agents (machine_id);
-- Who may send a long report without a token.
CREATE INDEX nodes_by_reporter ON nodes (reporter_address) WHERE reporter_address <> '';

-- Which deployment this is: one row, the same for all replicas. Not a secret.
CREATE TABLE deployment (
  only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  suffix text NOT NULL CHECK (suffix ~ '^[0-9a-f]{8}$')
);
INSERT INTO deployment (suffix) VALUES (substr(md5(gen_random_uuid()::text), 1, 8));
