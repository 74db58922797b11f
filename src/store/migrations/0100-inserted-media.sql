-- min_version: 0.1.0
-- How an operation gives the one-time URL to the machine (null: an operator does), and when a BMC first read the disc by it.
ALTER TABLE boot_urls ADD COLUMN way text COLLATE "C", ADD COLUMN read_at timestamptz;
-- What an operation has put into the virtual drive of a machine's BMC, until it was seen to be out again.
CREATE TABLE inserted_media (
  machine_id text COLLATE "C" PRIMARY KEY REFERENCES nodes ON DELETE CASCADE,
  operation_id text COLLATE "C" NOT NULL,
  secret_hash bytea NOT NULL,
  inserted_at timestamptz NOT NULL,
  tried_at timestamptz,
  tries integer NOT NULL DEFAULT 0
);
