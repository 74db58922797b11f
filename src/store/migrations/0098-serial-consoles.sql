-- min_version: 0.1.0
-- Serial consoles of machines (src/store/consoles/). The connection to a BMC is held by one replica, by a lease: claim_at is when
-- another may take it, infinity when no one wants it. Whoever holds it writes with the epoch of its claim.
CREATE TABLE consoles (
  machine_id text COLLATE "C" PRIMARY KEY REFERENCES machines ON DELETE CASCADE,
  owner text,
  epoch bigint NOT NULL DEFAULT 0,
  claim_at timestamptz NOT NULL DEFAULT 'infinity',
  state text NOT NULL DEFAULT 'closed' CHECK (state IN ('closed', 'connecting', 'open', 'waiting')),
  way text NOT NULL DEFAULT '',
  code text NOT NULL DEFAULT '',
  message text NOT NULL DEFAULT '',
  retry_at timestamptz,
  recorded boolean NOT NULL DEFAULT false,
  -- Someone asked to end the session that another client has at the BMC.
  steals boolean NOT NULL DEFAULT false,
  writer text,
  first_offset bigint NOT NULL DEFAULT 0,
  end_offset bigint NOT NULL DEFAULT 0
);
CREATE INDEX consoles_by_claim ON consoles (claim_at);

CREATE TABLE console_sessions (
  session_id text COLLATE "C" PRIMARY KEY,
  machine_id text COLLATE "C" NOT NULL REFERENCES consoles ON DELETE CASCADE,
  actor_kind text NOT NULL,
  actor_id text NOT NULL,
  opened_at timestamptz NOT NULL DEFAULT now(),
  seen_until timestamptz NOT NULL,
  asked_at timestamptz,
  written_bytes bigint NOT NULL DEFAULT 0,
  -- In its present turn; the first bytes of a turn are an event.
  has_written boolean NOT NULL DEFAULT false
);
CREATE INDEX console_sessions_by_machine ON console_sessions (machine_id);
CREATE INDEX console_sessions_by_end ON console_sessions (seen_until);

-- What the machine wrote, in pieces.
CREATE TABLE console_output (
  machine_id text COLLATE "C" NOT NULL REFERENCES consoles ON DELETE CASCADE,
  at_offset bigint NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  bytes bytea NOT NULL,
  PRIMARY KEY (machine_id, at_offset)
);

-- What is typed, on its way to the replica that holds the connection. It may be a password: unlogged, so that it is in no backup,
-- and deleted as it is taken.
CREATE UNLOGGED TABLE console_input (
  input_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  machine_id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  bytes bytea NOT NULL,
  send_break boolean NOT NULL
);
CREATE INDEX console_input_by_machine ON console_input (machine_id, input_id);

-- Consoles have events. Whatever other kinds there are stay.
DO $$
DECLARE
  kinds text := (SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint WHERE conname = 'events_kind_check');
BEGIN
  ALTER TABLE events DROP CONSTRAINT events_kind_check;
  EXECUTE format('ALTER TABLE events ADD CONSTRAINT events_kind_check CHECK (kind = ''console'' OR %s) NOT VALID', kinds);
END
$$;
