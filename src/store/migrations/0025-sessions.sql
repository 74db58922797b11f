-- min_version: 0.1.0
-- Sessions of the console. Only the hash of a session's secret is stored. A session lives no longer than the token, or the
-- claims of an issuer, that it was started with: after a rotation, the secret of before counts as long as it does itself. session_id names it
-- in events and opens nothing.
CREATE TABLE sessions (
  session_hash bytea PRIMARY KEY,
  session_id text COLLATE "C" NOT NULL UNIQUE,
  token_hash bytea,
  issuer text,
  claims jsonb,
  created_at timestamptz NOT NULL DEFAULT now(),
  used_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  ended_at timestamptz,
  CHECK ((token_hash IS NULL) <> (issuer IS NULL)),
  CHECK ((issuer IS NULL) = (claims IS NULL))
);
CREATE INDEX sessions_by_token ON sessions (token_hash);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
