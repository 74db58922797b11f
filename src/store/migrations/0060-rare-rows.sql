-- min_version: 0.1.0
-- What few rows match is found without reading through all the others. The indexes leave out what the hot path writes, where they can.

-- What a person did, among all that the system does.
CREATE INDEX events_by_person ON events (actor_id, event_id DESC) WHERE actor_kind IN ('admin', 'operator');

-- The types that a fleet has few of.
CREATE INDEX operations_by_rare_type ON operations (type, operation_id DESC)
  WHERE type NOT IN ('REBOOT', 'ENTER_MAINTENANCE', 'EXIT_MAINTENANCE');

-- Those that failed in the same way.
CREATE INDEX operations_by_error ON operations ((error ->> 'code'), operation_id DESC) WHERE error IS NOT NULL;

-- Machines whose agent is lost, or has not reported yet, among all that report.
CREATE INDEX machines_by_presence ON machines (presence, machine_id) WHERE presence IN ('pending', 'registered', 'expired');
