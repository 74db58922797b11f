-- min_version: 0.1.0
-- How many machines of the whole fleet were in each effective state, every five minutes. Kept for eight days.
CREATE TABLE fleet_samples (
  at timestamptz NOT NULL,
  state text COLLATE "C" NOT NULL,
  machines integer NOT NULL,
  PRIMARY KEY (at, state)
);
