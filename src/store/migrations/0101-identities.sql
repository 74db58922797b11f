-- min_version: 0.1.0
-- Who called without a token of Ingot's own: people whom an issuer vouches for, and client certificates. The configuration says what
-- they may do; here is when each was used last, as which role and scope, and since when an admin lets it in no more. A row
-- without a use is an identity that was revoked before it came.
CREATE TABLE identities (
  identity text COLLATE "C" PRIMARY KEY,
  -- oidc or certificate; empty: it was never used
  way text NOT NULL DEFAULT '',
  issuer text NOT NULL DEFAULT '',
  role text NOT NULL DEFAULT '',
  scope text NOT NULL DEFAULT '',
  scope_terms text[] NOT NULL DEFAULT '{}',
  first_used_at timestamptz,
  last_used_at timestamptz,
  last_used_from text NOT NULL DEFAULT '',
  ends_at timestamptz,
  ended_by text NOT NULL DEFAULT '',
  end_reason text NOT NULL DEFAULT ''
);
CREATE INDEX identities_by_use ON identities (last_used_at DESC NULLS LAST, identity);
