-- min_version: 0.1.0
-- The boot that an agent registered in: the next registration with another one shows that the machine has rebooted.
ALTER TABLE agents ADD COLUMN boot_id text;

-- A reboot may be found long after it happened; scores are computed of what was found since the last pass.
ALTER TABLE machine_reboots ADD COLUMN found_at timestamptz NOT NULL DEFAULT now();
DROP INDEX machine_reboots_by_time;
CREATE INDEX machine_reboots_by_time ON machine_reboots (found_at);
