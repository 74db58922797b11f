-- min_version: 0.1.0
-- The maintenance that a machine is in: src/domain/machine/maintenance.ts. It means nothing in any other phase.
ALTER TABLE machines ADD COLUMN maintenance jsonb;
UPDATE machines m SET maintenance = jsonb_build_object('since', coalesce(
    (SELECT max(e.at) FROM events e
     WHERE e.machine_id = m.machine_id AND e.kind = 'phase' AND e.to_state = 'MAINTENANCE'), m.effective_since),
  'until', NULL, 'reason', '', 'by', '', 'exitsByItself', false)
WHERE phase = 'MAINTENANCE';
