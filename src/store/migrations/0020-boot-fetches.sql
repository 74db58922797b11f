-- min_version: 0.1.0
-- What machines fetched while they booted. A node keeps its newest rows, and so do all fetches together that are no
-- node's (machine_id is empty): who asks with addresses that he makes up fills nothing.
CREATE TABLE boot_fetches (
  fetch_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  machine_id text COLLATE "C" NOT NULL,
  boot_no integer,
  mac_address text NOT NULL,
  address text NOT NULL,
  at timestamptz NOT NULL,
  kind text NOT NULL,
  served text NOT NULL,
  reason text NOT NULL,
  bytes bigint NOT NULL,
  total_bytes bigint,
  complete boolean NOT NULL
);
CREATE INDEX boot_fetches_by_machine ON boot_fetches (machine_id, fetch_id);

-- By what the fetches of a boot are known to be its own. It opens nothing.
ALTER TABLE boot_tokens ADD COLUMN trace_id text COLLATE "C";
CREATE INDEX boot_tokens_by_trace ON boot_tokens (trace_id) WHERE trace_id IS NOT NULL;
