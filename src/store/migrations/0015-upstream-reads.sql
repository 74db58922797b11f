-- min_version: 0.1.0
-- Who reads the machines of an upstream such as MAAS, and when that was done last (src/store/upstream-reads.ts). One
-- replica at a time has an upstream; what is held is free again when its time is over.
CREATE TABLE upstream_reads (
  provider text COLLATE "C" PRIMARY KEY,
  holder text NOT NULL DEFAULT '',
  held_until timestamptz NOT NULL DEFAULT '-infinity',
  due_at timestamptz NOT NULL DEFAULT '-infinity',
  started_at timestamptz,
  -- When the last complete sweep started, and the machines that it could not read.
  read_at timestamptz,
  unread text[] NOT NULL DEFAULT '{}',
  sweeps bigint NOT NULL DEFAULT 0,
  -- Why the last sweep failed; empty where it did not.
  failure text NOT NULL DEFAULT ''
);
