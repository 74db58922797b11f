-- min_version: 0.1.0
-- Every mutation and every refusal is an event: from which call (address, request id, way in), and which fields changed.
-- The new checks hold for new rows; those before satisfied narrower ones, so nothing is read again.
ALTER TABLE events
  ADD COLUMN address text,
  ADD COLUMN request_id text,
  ADD COLUMN via text,
  ADD COLUMN changes jsonb,
  DROP CONSTRAINT events_kind_check,
  DROP CONSTRAINT events_actor_kind_check,
  ADD CONSTRAINT events_kind_check CHECK (kind IN ('machine', 'phase', 'service', 'install', 'presence', 'observed',
    'condition', 'operation', 'step', 'progress', 'token', 'plan', 'pool', 'image', 'workflow', 'node', 'session',
    'settings', 'access', 'audit')) NOT VALID,
  ADD CONSTRAINT events_actor_kind_check CHECK (actor_kind IN ('admin', 'system', 'node_report', 'agent', 'operator',
    'anonymous')) NOT VALID;
