-- min_version: 0.1.0
-- The one-time URL of a node's next boot, for firmware that is given it through its BMC. Only its hash is kept.
CREATE TABLE boot_urls (
  machine_id text COLLATE "C" PRIMARY KEY REFERENCES nodes ON DELETE CASCADE,
  secret_hash bytea NOT NULL UNIQUE,
  issued_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  used_at timestamptz
);
