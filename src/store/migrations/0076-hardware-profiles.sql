-- min_version: 0.1.0
-- What machines must have (src/domain/hardware/hardware-profile.ts): those that `match` finds, within the scope that the profile was
-- created in.
CREATE TABLE hardware_profiles (
  profile_name text COLLATE "C" PRIMARY KEY,
  description text NOT NULL,
  match text NOT NULL,
  expect text[] NOT NULL,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  scope text NOT NULL DEFAULT '',
  scope_terms text[] NOT NULL DEFAULT '{}'
);
