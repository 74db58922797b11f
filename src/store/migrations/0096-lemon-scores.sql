-- min_version: 0.1.0
-- How much trouble each machine was in 90 days (src/domain/hardware/lemon-score.ts), in the row so that lists are sorted by it.
ALTER TABLE machines ADD COLUMN lemon_score smallint NOT NULL DEFAULT 0;
CREATE INDEX machines_by_lemon_score ON machines (lemon_score DESC NULLS LAST, machine_id);
CREATE INDEX operations_failed_of_machine ON operations (machine_id, finished_at)
  WHERE status IN ('failed_retryable', 'failed_manual_intervention');

CREATE TABLE machine_lemons (
  machine_id text COLLATE "C" PRIMARY KEY REFERENCES machines,
  score smallint NOT NULL,
  reasons text[] NOT NULL,
  scored_at timestamptz NOT NULL
);
CREATE INDEX machine_lemons_scored ON machine_lemons (scored_at) WHERE score > 0;

-- When machines were scored last. The replica that moves it on scores them.
CREATE TABLE lemon_scoring (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  scored_at timestamptz NOT NULL
);
INSERT INTO lemon_scoring (scored_at) VALUES ('1970-01-01Z');

-- Reboots that no operation asked for, as the agent reports them.
CREATE TABLE machine_reboots (
  machine_id text COLLATE "C" NOT NULL REFERENCES machines,
  boot_id text COLLATE "C" NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (machine_id, boot_id)
);
CREATE INDEX machine_reboots_by_time ON machine_reboots (at);
